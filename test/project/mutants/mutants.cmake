# SPDX-License-Identifier: Apache-2.0
#
# Each safety rule is necessary: without it, a test fails. A mutant is a program built with a copy of a header that a
# sed script has changed: in_place.cpp with detail/engine/segment_runner.hpp, and device.cpp with the header of
# cuda/detail/device whose name begins the name of the script.

# Mutants take turns; programs without a change do not.
function(tutti_add_safety_program name source)
  add_executable(${name} ${CMAKE_CURRENT_SOURCE_DIR}/project/mutants/${source}.cpp)
  target_include_directories(${name} BEFORE PRIVATE ${ARGN})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tutti_program)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS mutants)
  tutti_test_needs(${name} ${name})
endfunction()

function(tutti_add_mutant name source header script)
  tutti_takes_turn(${name} takes_turn)
  if(NOT takes_turn)
    return()
  endif()
  set(mutated ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name})
  set(original ${PROJECT_SOURCE_DIR}/include/${header})
  cmake_path(GET header PARENT_PATH folder)
  add_custom_command(
    OUTPUT ${mutated}/${header}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${mutated}/${folder}
    COMMAND sed -f ${script} ${original} > ${mutated}/${header}
    COMMAND sh -c "! cmp -s ${original} ${mutated}/${header}"  # the script must still apply
    DEPENDS ${script} ${original}
    VERBATIM)
  tutti_add_safety_program(${name} ${source} ${mutated})
  target_sources(${name} PRIVATE ${mutated}/${header})
  set_tests_properties(${name} PROPERTIES WILL_FAIL TRUE)
endfunction()

tutti_add_safety_program(mutants_none in_place)
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/project/mutants/*.sed)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM mutant)
  tutti_add_mutant(mutants_${mutant} in_place tutti/detail/engine/segment_runner.hpp ${script})
endforeach()

# The engine is only the reference here. Thread groups on the host run the headers of cuda, so no CUDA is needed.
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/include/tutti/cuda)
  return()
endif()
# The precompiled headers hold no header that is changed.
function(tutti_precompile_for_mutant name)
  target_link_libraries(${name} PRIVATE tutti::compiled Boost::unit_test_framework)
  target_compile_definitions(${name} PRIVATE BOOST_TEST_DYN_LINK)
  target_precompile_headers(${name} REUSE_FROM test_base)
endfunction()
tutti_add_safety_program(mutants_device_none device)
tutti_precompile_for_mutant(mutants_device_none)
file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/project/mutants/device/*.sed)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM LAST_ONLY mutant)
  string(REGEX REPLACE "\\..*" "" header ${mutant})
  tutti_add_mutant(mutants_device_${mutant} device tutti/cuda/detail/device/${header}.hpp ${script})
  if(TARGET mutants_device_${mutant})
    tutti_precompile_for_mutant(mutants_device_${mutant})
  endif()
endforeach()
