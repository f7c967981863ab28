# SPDX-License-Identifier: Apache-2.0
# What a version completed before its sequence is forgotten.
s/has_completed \&\& !precedes(completed, sequence_number)/1'b0/
