# SPDX-License-Identifier: Apache-2.0
# Weights of an earlier version replace later ones.
s/wire takes_weights = [^;]*;/wire takes_weights = 1'b1;/
