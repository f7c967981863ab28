# SPDX-License-Identifier: Apache-2.0
"""The parts of bench/in_network/run."""
