# SPDX-License-Identifier: Apache-2.0
# Contributions to updates may be shorter.
s/length == 16'd1040/length <= 16'd1040/
