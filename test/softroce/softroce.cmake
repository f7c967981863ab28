# SPDX-License-Identifier: Apache-2.0
#
# What needs an RDMA device, in one boot of a guest that has one. Where there is no QEMU it counts as skipped. The
# programs of test/verbs are tests of their own, too, for hosts with a device.
get_property(programs GLOBAL PROPERTY tutti_verbs_tests)
set(files "")
foreach(program IN LISTS programs)
  list(APPEND files $<TARGET_FILE:${program}>)
endforeach()
add_test(NAME softroce COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/softroce/run.sh --limit 240 --
                               sh ${CMAKE_CURRENT_SOURCE_DIR}/softroce/each.sh
                               ${CMAKE_CURRENT_SOURCE_DIR}/softroce/device.sh ${files})
set_tests_properties(softroce PROPERTIES TIMEOUT 400 COST 100 PROCESSORS 2 LABELS softroce SKIP_RETURN_CODE 77)
tutti_test_needs(softroce ${programs})
