# SPDX-License-Identifier: Apache-2.0
# A sum that is too large by its exponent is no infinity.
s/is_infinite3 || exponent3 == 8'd254/is_infinite3/
