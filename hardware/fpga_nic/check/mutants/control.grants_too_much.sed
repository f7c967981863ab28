# SPDX-License-Identifier: Apache-2.0
# A job in rank order gets slots that overlap.
s/SLOTS\[18:3\]/SLOTS[17:2]/
