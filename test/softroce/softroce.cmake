# SPDX-License-Identifier: Apache-2.0
#
# What needs an RDMA device, in one boot of a guest that has one. Where there is no QEMU it counts as skipped.
add_test(NAME softroce COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/softroce/run.sh --limit 150 --
                               sh ${CMAKE_CURRENT_SOURCE_DIR}/softroce/each.sh
                               ${CMAKE_CURRENT_SOURCE_DIR}/softroce/device.sh)
set_tests_properties(softroce PROPERTIES TIMEOUT 300 COST 100 LABELS softroce SKIP_RETURN_CODE 77)
tutti_test_needs(softroce)
