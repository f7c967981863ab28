# SPDX-License-Identifier: Apache-2.0
# UDP checksums are not looked at.
s/wire has_sum = .*/wire has_sum = 1'b1;/
