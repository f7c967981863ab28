# SPDX-License-Identifier: Apache-2.0
# Unknown senders get as many refusals as they ask for.
s/length != 11'd0 \&\& now >= next_refusal/length != 11'd0/
