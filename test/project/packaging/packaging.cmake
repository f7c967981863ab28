# SPDX-License-Identifier: Apache-2.0
#
# Runs the commands of README.md and docs/guide/installing.md from an empty home, the claims of examples/quickstart.sh,
# and the packagers whose clients are installed.

tutti_takes_turn(snippets takes_turn)
if(takes_turn)
  add_test(NAME snippets COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/packaging/snippets.sh ${PROJECT_SOURCE_DIR}
                                 ${CMAKE_CURRENT_BINARY_DIR}/packaging/snippets)
  set_tests_properties(snippets PROPERTIES TIMEOUT 900 COST 150 LABELS packaging SKIP_REGULAR_EXPRESSION "SKIP: ")
  tutti_test_needs(snippets)
endif()

add_test(NAME quickstart COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/packaging/quickstart.sh ${PROJECT_SOURCE_DIR})
set_tests_properties(quickstart PROPERTIES TIMEOUT 60 LABELS packaging)
tutti_test_needs(quickstart)

foreach(packager IN ITEMS conan vcpkg spack)
  add_test(NAME packaging_${packager}
           COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/project/packaging/${packager}.sh ${PROJECT_SOURCE_DIR}
                   ${CMAKE_CURRENT_BINARY_DIR}/packaging/${packager})
  set_tests_properties(packaging_${packager} PROPERTIES TIMEOUT 1800 LABELS packaging SKIP_RETURN_CODE 77)
  tutti_test_needs(packaging_${packager})
endforeach()

# Files that cannot read the version from its source name the same version.
foreach(place IN ITEMS docs/guide/installing.md packaging/vcpkg/ports/tutti/vcpkg.json
        packaging/conan-center/recipes/tutti/config.yml)
  string(REPLACE "." "\\." version "${PROJECT_VERSION}")
  file(STRINGS ${PROJECT_SOURCE_DIR}/${place} found REGEX "(tutti/|\"version\": \"|^  \")${version}(\"|$)")
  if(NOT found)
    message(FATAL_ERROR "${place} has another version than tutti/version.hpp, which says ${PROJECT_VERSION}.")
  endif()
endforeach()

# A component that needs a library is an option of each packager. MPI and CUDA are exceptions: they are the site's own,
# and Spack handles them; vcpkg finds CUDA, too.
file(READ ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake dependencies)
foreach(component IN LISTS tutti_components)
  if(component STREQUAL "tutti" OR NOT dependencies MATCHES "component STREQUAL \"${component}\"")
    continue()
  endif()
  set(options "packaging/spack/spack_repo/tutti/packages/tutti/package.py: variant.\"${component}\"")
  if(NOT component MATCHES "^(mpi|cuda)$")
    list(APPEND options "conanfile.py: \"with_${component}\"")
  endif()
  if(NOT component STREQUAL "mpi")
    string(REPLACE "_" "-" feature ${component})  # vcpkg allows no other names
    list(APPEND options "packaging/vcpkg/ports/tutti/vcpkg.json: \"${feature}\"")
  endif()
  foreach(place IN LISTS options)
    string(REGEX REPLACE "^(.+): (.+)$" "\\1;\\2" place ${place})
    list(GET place 0 file)
    list(GET place 1 option)
    file(STRINGS ${PROJECT_SOURCE_DIR}/${file} found REGEX ${option})
    if(NOT found)
      message(FATAL_ERROR "tutti::${component} is no option in ${file}: a line that matches ${option} is missing.")
    endif()
  endforeach()
endforeach()
