# SPDX-License-Identifier: Apache-2.0
# A write is done when its data are there, with an address or without.
s/wire writes = s_axil_awvalid \&\& s_axil_wvalid/wire writes = s_axil_wvalid/
