# SPDX-License-Identifier: Apache-2.0
#
# The FPGA NIC, and UDP multicast.

if(NOT TARGET tutti::in_network)
  return()
endif()
foreach(folder IN ITEMS fpga_nic multicast)
  tutti_add_tests(in_network/${folder} ${folder})
endforeach()
