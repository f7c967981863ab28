# SPDX-License-Identifier: Apache-2.0
"""What the studies of bench/studies stand on."""
