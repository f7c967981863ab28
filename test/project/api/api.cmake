# SPDX-License-Identifier: Apache-2.0
find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME api COMMAND ${CMAKE_COMMAND} -E env DOXYGEN=${DOXYGEN_EXECUTABLE}
                            sh ${CMAKE_CURRENT_SOURCE_DIR}/project/api/api.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(api PROPERTIES TIMEOUT 120 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(api)
else()
  message(STATUS "The test api is left out: it needs Python 3 (Debian: python3)")
endif()
