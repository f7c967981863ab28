# SPDX-License-Identifier: Apache-2.0
#
# Programs that draw their trials from a seed: test/faults/<name>.cpp, or one in the folder `faults` of a component's
# tests, is the program and the test faults_<name>. The suite runs a few seconds of each;
# `faults_<name> --trials N --seed S` runs more. run.sh runs all in turns; the test faults_run is ten seconds of it.

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/faults/*.cpp
                                    ${CMAKE_CURRENT_SOURCE_DIR}/*/faults/*.cpp)
set(programs "")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM stem)
  set(name faults_${stem})
  tutti_takes_turn(${name} takes_turn)
  if(NOT takes_turn AND stem MATCHES "^answers_" AND NOT stem STREQUAL "answers_loopback")
    continue()  # the engine is the same over loopback
  endif()
  tutti_libraries_of(${name} libraries)
  if(libraries STREQUAL "missing")
    continue()
  endif()
  tutti_read_test_words(${source} words)
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tutti_program tutti::compiled ${libraries})
  if(stem MATCHES "^answers_")
    target_compile_options(${name} PRIVATE -O0)  # to optimise it would take longer than it runs
  endif()
  add_test(NAME ${name} COMMAND ${name})
  tutti_apply_test_words(${name} faults "${words}")
  list(APPEND programs ${name})
endforeach()
add_custom_target(faults DEPENDS ${programs})
add_test(NAME faults_run COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/faults/run.sh --seconds 10 --seed 1000
                                 --programs ${PROJECT_BINARY_DIR})
set_tests_properties(faults_run PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "${environment}" LABELS faults COST 100)
tutti_test_needs(faults_run ${programs})
