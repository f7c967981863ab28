# SPDX-License-Identifier: Apache-2.0
# A job finds what another one left in its slots.
s/changes || state == CLEAR/changes/
