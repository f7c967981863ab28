# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests that need an RDMA device, in one boot of a guest that has one. Skipped without QEMU. The
# programs of test/verbs are tests of their own, too, for hosts with a device.
tutti_takes_turn(softroce takes_turn)
if(NOT takes_turn)
  return()
endif()
get_property(programs DIRECTORY PROPERTY TESTS)
list(FILTER programs INCLUDE REGEX "^verbs_")
list(FILTER programs EXCLUDE REGEX "_comma$")
set(environment "")
set(commands ${CMAKE_CURRENT_SOURCE_DIR}/verbs/softroce/device.sh)
foreach(program IN LISTS programs)
  if(program STREQUAL "verbs_two_devices")
    set(environment env TUTTI_TWO_DEVICES=$<TARGET_FILE:${program}>)
  else()
    list(APPEND commands $<TARGET_FILE:${program}>)
  endif()
endforeach()
if(environment)
  list(APPEND commands ${CMAKE_CURRENT_SOURCE_DIR}/verbs/softroce/two_devices.sh)
endif()
add_test(NAME softroce COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/verbs/softroce/run.sh --limit 450 -- ${environment}
                               sh ${CMAKE_CURRENT_SOURCE_DIR}/verbs/softroce/each.sh ${commands})
set_tests_properties(softroce PROPERTIES TIMEOUT 650 COST 100 PROCESSORS 2 LABELS softroce SKIP_RETURN_CODE 77)
tutti_test_needs(softroce ${programs})
