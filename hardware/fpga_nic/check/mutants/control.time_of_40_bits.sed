# SPDX-License-Identifier: Apache-2.0
# Time has 40 bits, and wraps after three years.
s/wire \[47:0\] now = p\[320:273\]/wire [47:0] now = {8'd0, p[312:273]}/
