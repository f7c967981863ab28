# SPDX-License-Identifier: Apache-2.0
# Weights that have been updated have the version from before.
s/weights_version + 32'd1/weights_version/
