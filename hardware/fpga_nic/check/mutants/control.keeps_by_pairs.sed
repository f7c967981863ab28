# SPDX-License-Identifier: Apache-2.0
# Two workers share the block in which contributions are kept.
s/{block\[INDEX_BITS-1:3\], number}/{block[INDEX_BITS-1:3], number[2:1], 1'b0}/
