# SPDX-License-Identifier: Apache-2.0
# Those that want no data get as many bytes as others.
s/o_no_data ? 11'd0 : result_length/result_length/
