# SPDX-License-Identifier: Apache-2.0
#
# The commands of README.md, from an empty home; and the packagers whose clients are installed.

add_test(NAME doors COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/packaging/doors.sh ${PROJECT_SOURCE_DIR}
                            ${CMAKE_CURRENT_BINARY_DIR}/packaging/doors)
set_tests_properties(doors PROPERTIES TIMEOUT 600 LABELS packaging SKIP_REGULAR_EXPRESSION "SKIP: ")
tutti_test_needs(doors)

foreach(packager IN ITEMS conan)
  add_test(NAME packaging_${packager} COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/packaging/${packager}.sh ${PROJECT_SOURCE_DIR}
                                              ${CMAKE_CURRENT_BINARY_DIR}/packaging/${packager})
  set_tests_properties(packaging_${packager} PROPERTIES TIMEOUT 1800 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(packaging_${packager})
endforeach()
