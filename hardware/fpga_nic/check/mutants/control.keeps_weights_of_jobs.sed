# SPDX-License-Identifier: Apache-2.0
# A new job has the weights of the one before.
s/wire is_cleared = .*/wire is_cleared = 1'b0;/
