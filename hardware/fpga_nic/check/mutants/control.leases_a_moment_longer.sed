# SPDX-License-Identifier: Apache-2.0
# A lease still runs when it ends.
s/now < record\[163:116\]/now <= record[163:116]/
