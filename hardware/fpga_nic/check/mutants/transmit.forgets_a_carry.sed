# SPDX-License-Identifier: Apache-2.0
# Carries of a checksum are added once.
s/once\[15:0\] + {15'd0, once\[16\]}/once[15:0]/
