# SPDX-License-Identifier: Apache-2.0
# A lease is the longest one.
s/wanted_lease < MOST_LEASE ? wanted_lease : MOST_LEASE/MOST_LEASE/
