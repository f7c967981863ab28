# SPDX-License-Identifier: Apache-2.0
# Sums that are too small become the largest number.
s/32'h80000000 : 32'h7fffffff/32'h7fffffff : 32'h7fffffff/
