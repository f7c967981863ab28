# SPDX-License-Identifier: Apache-2.0
# The first fragment of a datagram is taken for all of it.
s/fragment\[13:0\] == 14'd0/fragment[12:0] == 13'd0/
