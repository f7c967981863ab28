# SPDX-License-Identifier: Apache-2.0
find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME messages COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/project/messages/messages.py
                                 ${PROJECT_SOURCE_DIR})
  add_test(NAME messages_finds_planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/messages/planted.sh)
  set_tests_properties(messages messages_finds_planted PROPERTIES TIMEOUT 180 LABELS packaging)
  tutti_test_needs(messages)
  tutti_test_needs(messages_finds_planted)
else()
  message(STATUS "The tests messages and messages_finds_planted are left out: they need Python 3 (Debian: python3)")
endif()
