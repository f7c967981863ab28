# SPDX-License-Identifier: Apache-2.0
#
# The commands of README.md, from an empty home.

add_test(NAME doors COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/packaging/doors.sh ${PROJECT_SOURCE_DIR}
                            ${CMAKE_CURRENT_BINARY_DIR}/packaging/doors)
set_tests_properties(doors PROPERTIES TIMEOUT 600 LABELS packaging SKIP_REGULAR_EXPRESSION "SKIP: ")
tutti_test_needs(doors)
