# SPDX-License-Identifier: Apache-2.0
# The leading one goes to its place whatever the exponent.
s/leading_zeros(magnitude3\[26:0\] | stop3)/leading_zeros(magnitude3[26:0])/
