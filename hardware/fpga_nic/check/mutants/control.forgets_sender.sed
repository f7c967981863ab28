# SPDX-License-Identifier: Apache-2.0
# The sender is the member that is looked at.
s/WORKER_BITS\] = sender;/WORKER_BITS] = look;/
