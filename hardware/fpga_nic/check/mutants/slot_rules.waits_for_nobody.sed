# SPDX-License-Identifier: Apache-2.0
# A member that goes on waits for a sequence that it has contributed to.
s/ \&\& !has_contributed;/;/
