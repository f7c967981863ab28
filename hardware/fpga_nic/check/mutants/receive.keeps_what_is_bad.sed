# SPDX-License-Identifier: Apache-2.0
# A frame that is refused leaves its payload.
s/else if (is_good) base <= next_base/else if (ends4) base <= next_base/
