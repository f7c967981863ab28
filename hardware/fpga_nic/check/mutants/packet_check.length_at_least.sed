# SPDX-License-Identifier: Apache-2.0
# A datagram may be longer than its packet says.
s/said == {1'b0, udp_length}/said <= {1'b0, udp_length}/
