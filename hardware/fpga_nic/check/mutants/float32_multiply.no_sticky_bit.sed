# SPDX-License-Identifier: Apache-2.0
# What is cut off a product is not looked at.
s/placed3\[54:0\] != 55'd0/1'b0/
