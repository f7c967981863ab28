# SPDX-License-Identifier: Apache-2.0
# Frames are let in for which there may be no room.
s/ROOM = 40/ROOM = 2/
