# SPDX-License-Identifier: Apache-2.0
# Frames are dropped while half of the memory is free.
s/(1 << RING_BITS) - ROOM/(1 << (RING_BITS - 1)) - ROOM/
