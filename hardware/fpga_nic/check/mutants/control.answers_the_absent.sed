# SPDX-License-Identifier: Apache-2.0
# Results go to members that have left.
s/state == ANSWER \&\& present\[at\]/state == ANSWER/
