# SPDX-License-Identifier: Apache-2.0
# Weights of another version are updated.
s/WEIGHTS == 0 || !has_version/WEIGHTS == 0 || !has_weights/
