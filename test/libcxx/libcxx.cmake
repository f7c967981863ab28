# SPDX-License-Identifier: Apache-2.0
#
# The library over LLVM's standard library, by the second compiler: its strict C++20, nothing experimental.

set(libcxx_found NO)
if(TUTTI_SECOND_COMPILER)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/libcxx_probe.cpp)
  file(WRITE ${probe} "#include <thread>\n#include <vector>\nint main() { std::vector<int>{1}.at(0); }\n")
  execute_process(COMMAND ${TUTTI_SECOND_COMPILER} -std=c++20 -stdlib=libc++ -pthread ${probe} -o ${probe}.out
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message(WARNING "The test libcxx is left out: ${TUTTI_SECOND_COMPILER} has no libc++ (Debian: libc++-16-dev "
                    "libc++abi-16-dev).")
  else()
    set(libcxx_found YES)
  endif()
endif()

if(libcxx_found)
  set(program ${CMAKE_CURRENT_BINARY_DIR}/libcxx_program)
  add_test(NAME libcxx_builds
           COMMAND ${TUTTI_SECOND_COMPILER} -std=c++20 -stdlib=libc++ -pthread ${tutti_warning_flags}
                   -I${PROJECT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/libcxx/program.cpp -o ${program})
  add_test(NAME libcxx_runs COMMAND ${program})
  set_tests_properties(libcxx_builds PROPERTIES FIXTURES_SETUP libcxx)
  set_tests_properties(libcxx_runs PROPERTIES FIXTURES_REQUIRED libcxx)
  set_tests_properties(libcxx_builds libcxx_runs PROPERTIES TIMEOUT ${timeout} LABELS packaging)
  tutti_test_needs(libcxx_builds)
  tutti_test_needs(libcxx_runs)
endif()
