# SPDX-License-Identifier: Apache-2.0
#
# Runs docs/guide/launching.md with the installed launchers. Hosts are network namespaces.

set(program ${CMAKE_CURRENT_BINARY_DIR}/launchers/program)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/launchers)
add_test(NAME launchers_program COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -pthread -I${PROJECT_SOURCE_DIR}/include
                                        ${PROJECT_SOURCE_DIR}/examples/join.cpp -o ${program})
set_tests_properties(launchers_program PROPERTIES TIMEOUT 120 LABELS launchers FIXTURES_SETUP launchers)
tutti_test_needs(launchers_program)
foreach(name IN ITEMS by_hand ssh openmpi openmpi_hosts mpich mpich_hosts torchrun torchrun_hosts slurm kubernetes)
  add_test(NAME launchers_${name}
           COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/launchers/launchers.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/launchers/${name} ${name} ${CMAKE_CXX_COMPILER} ${program})
  # If no hosts are made, the ports that the page names are this machine's.
  set_tests_properties(launchers_${name} PROPERTIES TIMEOUT 180 LABELS launchers SKIP_RETURN_CODE 77
                                                    FIXTURES_REQUIRED launchers RESOURCE_LOCK launchers_ports)
  tutti_test_needs(launchers_${name})
endforeach()
