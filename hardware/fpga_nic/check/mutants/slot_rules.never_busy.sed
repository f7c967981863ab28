# SPDX-License-Identifier: Apache-2.0
# A later sequence replaces an incomplete earlier one.
s/wire waits = .*/wire waits = 1'b0;/
