# SPDX-License-Identifier: Apache-2.0
#
# Another project gets tutti by CMake, builds and runs (FetchContent: test/project/packaging/snippets.sh), for any
# installation paths and with warnings as errors. A component that does not exist, a missing library, and C++ that is
# not enabled yet give a clear message. Without the folder of a component all others build and run.

set(ways find_package add_subdirectory exported no_such_component missing_library no_language absolute_paths)
foreach(component IN ITEMS c secure simulation verbs in_network cuda nn)
  tutti_takes_turn(install_without_${component} takes_turn)
  if(takes_turn)
    list(APPEND ways without_${component})
  endif()
endforeach()
foreach(way IN LISTS ways)
  add_test(NAME install_${way}
           COMMAND ${CMAKE_COMMAND} -DWAY=${way} -DTUTTI_SOURCE=${PROJECT_SOURCE_DIR} -DTUTTI_BINARY=${PROJECT_BINARY_DIR}
                   -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/install/${way} -DGENERATOR=${CMAKE_GENERATOR}
                   -DCOMPILER=${CMAKE_CXX_COMPILER} "-DLAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}"
                   "-DAVAILABLE=${tutti_available}" -P ${CMAKE_CURRENT_SOURCE_DIR}/project/install/run.cmake)
  set_tests_properties(install_${way} PROPERTIES TIMEOUT 400 LABELS packaging)
  tutti_test_needs(install_${way})
endforeach()
