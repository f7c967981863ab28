# SPDX-License-Identifier: Apache-2.0
# Two workers may give data to a copy.
s/operation == 8'd1 || held_length != length/held_length != length/
