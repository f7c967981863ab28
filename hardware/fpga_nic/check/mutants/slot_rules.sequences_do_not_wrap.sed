# SPDX-License-Identifier: Apache-2.0
# The larger number is the later sequence.
s/\$signed(a - b) < 0/a < b/
