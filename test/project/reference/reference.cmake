# SPDX-License-Identifier: Apache-2.0
#
# Builds the reference without a warning, and checks that faults in it are found.

add_test(NAME reference COMMAND sh ${PROJECT_SOURCE_DIR}/docs/reference/build.sh "${DOXYGEN_EXECUTABLE}"
                                ${PROJECT_SOURCE_DIR} ${tutti_reference_output})
add_test(NAME reference_finds_planted COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/reference/planted.sh
                                              "${DOXYGEN_EXECUTABLE}" ${PROJECT_SOURCE_DIR})
set_tests_properties(reference reference_finds_planted PROPERTIES TIMEOUT 120 LABELS sources SKIP_RETURN_CODE 77)
tutti_test_needs(reference)
tutti_test_needs(reference_finds_planted)
