# SPDX-License-Identifier: Apache-2.0
# Products that are subnormal are not moved right.
s/is_below3 ? right3/1'b0 ? right3/
