# SPDX-License-Identifier: Apache-2.0
# Ties are rounded up, not to even.
s/wire up = magnitude4\[2\] \&\& .*;/wire up = magnitude4[2];/
