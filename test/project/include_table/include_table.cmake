# SPDX-License-Identifier: Apache-2.0
add_test(NAME include_table
         COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/include_table/include_table.sh ${PROJECT_SOURCE_DIR}/include)
add_test(NAME include_table_finds_planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/include_table/planted.sh)
add_test(NAME foreign_macros COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/include_table/foreign_macros.sh
                                     ${PROJECT_SOURCE_DIR}/include ${CMAKE_CXX_COMPILER})
set_tests_properties(include_table include_table_finds_planted foreign_macros PROPERTIES TIMEOUT 60 LABELS packaging)
tutti_test_needs(include_table)
tutti_test_needs(include_table_finds_planted)
tutti_test_needs(foreign_macros)
find_program(python NAMES python3 NO_CACHE)
if(python)
  add_test(NAME folders_picture COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/project/include_table/picture.py
                                        ${PROJECT_SOURCE_DIR})
  set_tests_properties(folders_picture PROPERTIES TIMEOUT 60 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(folders_picture)
else()
  message(STATUS "The test folders_picture is left out: it needs Python 3 (Debian: python3)")
endif()
