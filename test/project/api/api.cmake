# SPDX-License-Identifier: Apache-2.0
find_program(TUTTI_CTAGS ctags-universal)
if(TUTTI_CTAGS)
  add_test(NAME api COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/api/api.sh ${PROJECT_SOURCE_DIR})
  set_tests_properties(api PROPERTIES TIMEOUT 60 LABELS packaging)
  tutti_test_needs(api)
else()
  message(STATUS "The test api is left out: it needs Universal Ctags (Debian: universal-ctags)")
endif()
