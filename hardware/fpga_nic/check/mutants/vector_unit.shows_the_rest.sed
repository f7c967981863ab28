# SPDX-License-Identifier: Apache-2.0
# Bytes behind the end of a result are in its checksum.
s/s_last\[8\] \&\& s_bytes\[8\] != 6'd0 ?/1'b0 ?/
