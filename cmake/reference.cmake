# SPDX-License-Identifier: Apache-2.0
#
# Target `docs`: builds the reference of all public names with Doxygen, in reference/html of the build folder.

find_package(Doxygen 1.9.4 QUIET)
set(tutti_reference_output ${PROJECT_BINARY_DIR}/reference)
add_custom_target(docs COMMAND sh ${PROJECT_SOURCE_DIR}/docs/reference/build.sh "${DOXYGEN_EXECUTABLE}"
                               ${PROJECT_SOURCE_DIR} ${tutti_reference_output}
                  COMMENT "Making the reference: ${tutti_reference_output}/html/index.html" VERBATIM)
