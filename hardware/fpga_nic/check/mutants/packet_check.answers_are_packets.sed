# SPDX-License-Identifier: Apache-2.0
# What only devices send is taken.
s/wire from_device = .*/wire from_device = 1'b0;/
