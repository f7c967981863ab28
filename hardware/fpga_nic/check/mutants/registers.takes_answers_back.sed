# SPDX-License-Identifier: Apache-2.0
# The answer to a read is there for one clock, taken or not.
s/if (s_axil_rready) s_axil_rvalid <= 1'b0/s_axil_rvalid <= 1'b0/
