# SPDX-License-Identifier: Apache-2.0
find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME language COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/project/language/language.py
                                 ${PROJECT_SOURCE_DIR})
  add_test(NAME language_finds_planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/language/planted.sh)
  set_tests_properties(language language_finds_planted PROPERTIES TIMEOUT 180 LABELS packaging)
  tutti_test_needs(language)
  tutti_test_needs(language_finds_planted)
else()
  message(STATUS "The tests language and language_finds_planted are left out: they need Python 3 (Debian: python3)")
endif()
