# SPDX-License-Identifier: Apache-2.0
# A leading one may go left of an exponent of 1.
s/room2 < {4'd0, zeros2}/1'b0/
