# SPDX-License-Identifier: Apache-2.0
# A reset leaves payloads where they are.
s/if (rst) base <= 0;/if (1'b0) base <= 0;/
