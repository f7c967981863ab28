# SPDX-License-Identifier: Apache-2.0
#
# Programs that kill, stop and flood at moments drawn from a seed: test/faults/<name>.cpp is the program and the
# test faults_<name>. The suite runs a few seconds of each; `faults_<name> --trials N --seed S` runs more.

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/faults/*.cpp)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM stem)
  set(name faults_${stem})
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE tutti_program)
  tutti_check_with_second_compiler(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS faults)
  tutti_test_needs(${name} ${name})
endforeach()
