# SPDX-License-Identifier: Apache-2.0
add_test(NAME pages COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/pages/pages.sh ${PROJECT_SOURCE_DIR})
add_test(NAME pages_finds_planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/pages/planted.sh)
set_tests_properties(pages pages_finds_planted PROPERTIES TIMEOUT 60 LABELS packaging)
tutti_test_needs(pages)
tutti_test_needs(pages_finds_planted)

find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME workflows COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/project/pages/workflows.py
                                  ${PROJECT_SOURCE_DIR})
  set_tests_properties(workflows PROPERTIES TIMEOUT 60 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(workflows)
endif()
