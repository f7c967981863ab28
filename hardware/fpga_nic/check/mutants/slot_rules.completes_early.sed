# SPDX-License-Identifier: Apache-2.0
# One contribution too few is enough.
s/count_before + 8'd1 == workers/count_before + 8'd2 >= workers/
