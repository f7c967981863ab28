# SPDX-License-Identifier: Apache-2.0
"""The common parts of bench/studies."""
