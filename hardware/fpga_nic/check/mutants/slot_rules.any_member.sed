# SPDX-License-Identifier: Apache-2.0
# Another member may repeat what a worker contributed.
s/!is_same_member ? MISMATCH : //
