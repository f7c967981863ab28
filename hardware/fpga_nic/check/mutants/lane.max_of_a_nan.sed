# SPDX-License-Identifier: Apache-2.0
# The maximum ignores a NaN that comes.
s/x_is_nan || y_is_nan ? NAN/x_is_nan ? NAN/
