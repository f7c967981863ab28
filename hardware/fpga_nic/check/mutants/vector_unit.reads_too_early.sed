# SPDX-License-Identifier: Apache-2.0
# A block is read in the cycle in which it is written.
s/for (i = 1; i <= STAGES; i = i + 1)$/for (i = 1; i < STAGES; i = i + 1)/
