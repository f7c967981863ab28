# SPDX-License-Identifier: Apache-2.0
# The last bits that are shifted out are lost.
s/by2\[1:0\] != 2'd0/by2[1]/
