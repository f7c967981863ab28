# SPDX-License-Identifier: Apache-2.0
# Weights do not decay.
s/wire has_decay = .*/wire has_decay = 1'b0;/
