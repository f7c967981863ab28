# SPDX-License-Identifier: Apache-2.0
find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME api COMMAND ${CMAKE_COMMAND} -E env DOXYGEN=${DOXYGEN_EXECUTABLE}
                            sh ${CMAKE_CURRENT_SOURCE_DIR}/project/api/api.sh ${PROJECT_SOURCE_DIR})
  add_test(NAME api_finds_planted COMMAND ${CMAKE_COMMAND} -E env DOXYGEN=${DOXYGEN_EXECUTABLE}
                                          sh ${CMAKE_CURRENT_SOURCE_DIR}/project/api/planted.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(api api_finds_planted PROPERTIES TIMEOUT 120 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(api)
  tutti_test_needs(api_finds_planted)
else()
  message(STATUS "The tests of api are left out: they need Python 3 (Debian: python3)")
endif()
