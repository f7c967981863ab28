# SPDX-License-Identifier: Apache-2.0
#
# Each safety rule of the engine is necessary: without it, a test breaks. A mutant is the program
# in_place.cpp built against a copy of detail/engine/machine.hpp that a sed script has changed.

function(tutti_add_safety_program name)
  add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/mutants/in_place.cpp)
  target_include_directories(${name} BEFORE PRIVATE ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tutti_program)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS mutants)
  tutti_test_needs(${name} ${name})
endfunction()

tutti_add_safety_program(mutants_none)

set(machine ${PROJECT_SOURCE_DIR}/include/tutti/detail/engine/machine.hpp)
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/mutants/*.sed)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM mutant)
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${mutant})
  add_custom_command(
    OUTPUT ${mutated}/tutti/detail/engine/machine.hpp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${mutated}/tutti/collective
    COMMAND sed -f ${script} ${machine} > ${mutated}/tutti/detail/engine/machine.hpp
    COMMAND sh -c "! cmp -s ${machine} ${mutated}/tutti/detail/engine/machine.hpp"  # the script must still apply
    DEPENDS ${script} ${machine}
    VERBATIM)
  tutti_add_safety_program(mutants_${mutant} ${mutated})
  target_sources(mutants_${mutant} PRIVATE ${mutated}/tutti/detail/engine/machine.hpp)
  set_tests_properties(mutants_${mutant} PROPERTIES WILL_FAIL TRUE)
endforeach()
