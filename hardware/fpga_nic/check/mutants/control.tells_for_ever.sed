# SPDX-License-Identifier: Apache-2.0
# A member is told of congestion in each result.
/if (answers) marked/d
