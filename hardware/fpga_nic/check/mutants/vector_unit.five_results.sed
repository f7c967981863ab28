# SPDX-License-Identifier: Apache-2.0
# A fifth result is made where there is room for four.
s/results != 3'd4/results != 3'd5/
