# SPDX-License-Identifier: Apache-2.0
# Partial results are read while they are made.
s/(x_from == PARTIAL \&\& s_to\[i\] == PARTIAL)/1'b0/
