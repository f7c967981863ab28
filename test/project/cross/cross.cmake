# SPDX-License-Identifier: Apache-2.0
#
# Other processors: with a byte order, an address size and a memory model that this machine does not have.

function(tutti_add_cross_test name)
  add_test(NAME cross_${name} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/cross/cross.sh ${PROJECT_SOURCE_DIR}
                                      ${CMAKE_CURRENT_BINARY_DIR}/cross/${name} ${ARGN})
  set_tests_properties(cross_${name} PROPERTIES TIMEOUT 1800 LABELS cross SKIP_RETURN_CODE 77)
  tutti_test_needs(cross_${name})
endfunction()

foreach(processor IN ITEMS aarch64 s390x i686)
  tutti_add_cross_test(${processor} laws ${processor})
endforeach()
tutti_add_cross_test(peers peers ${CMAKE_CXX_COMPILER})
