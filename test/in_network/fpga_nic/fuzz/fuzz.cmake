# SPDX-License-Identifier: Apache-2.0
#
# A program that throws packets at the parts of a device in the network.

find_package(CLI11 QUIET CONFIG)
if(CLI11_FOUND)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/in_network/fpga_nic/fuzz/*.cpp)
  tutti_add_program(fuzz ${sources})
  target_link_libraries(fuzz PRIVATE tutti::compiled CLI11::CLI11)
  add_test(NAME fpga_nic_fuzz COMMAND fuzz --packets 1e5)
  set_tests_properties(fpga_nic_fuzz PROPERTIES TIMEOUT 120 LABELS fpga_nic PROCESSORS 2)
  tutti_test_needs(fpga_nic_fuzz fuzz)
else()
  message(STATUS "The test fpga_nic_fuzz is left out: it needs CLI11 (Debian: libcli11-dev).")
endif()
