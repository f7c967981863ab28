# SPDX-License-Identifier: Apache-2.0
# x - x is -0 if x is negative.
s/sign3 \&\& !(subtracts3 \&\& magnitude3 == 28.d0)/sign3/
