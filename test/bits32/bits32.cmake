# SPDX-License-Identifier: Apache-2.0
#
# The library on a system of 32 bits, whose files are to be as long as elsewhere.

set(bits32 -m32 -D_FILE_OFFSET_BITS=64 -std=c++20 -pthread)
set(probe ${CMAKE_CURRENT_BINARY_DIR}/bits32_probe)
file(WRITE ${probe}.cpp "#include <thread>\n#include <vector>\nint main() { return std::vector<int>{0}.at(0); }\n")
execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${bits32} ${probe}.cpp -o ${probe} RESULT_VARIABLE failed
                OUTPUT_QUIET ERROR_QUIET)
if(NOT failed)
  execute_process(COMMAND ${probe} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
endif()
if(failed)
  message(STATUS "The test bits32 is left out: ${CMAKE_CXX_COMPILER} makes no programs of 32 bits that run here "
                 "(Debian: g++-multilib).")
else()
  set(program ${CMAKE_CURRENT_BINARY_DIR}/bits32_program)
  add_test(NAME bits32_builds
           COMMAND ${CMAKE_CXX_COMPILER} ${bits32} ${tutti_warning_flags} -I${PROJECT_SOURCE_DIR}/include
                   ${CMAKE_CURRENT_SOURCE_DIR}/bits32/program.cpp -o ${program})
  add_test(NAME bits32_runs COMMAND ${program})
  set_tests_properties(bits32_builds PROPERTIES FIXTURES_SETUP bits32)
  set_tests_properties(bits32_runs PROPERTIES FIXTURES_REQUIRED bits32)
  set_tests_properties(bits32_builds bits32_runs PROPERTIES TIMEOUT ${timeout} LABELS packaging)
  tutti_test_needs(bits32_builds)
  tutti_test_needs(bits32_runs)
endif()
