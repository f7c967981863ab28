# SPDX-License-Identifier: Apache-2.0
#
# Builds the library with LLVM's standard library, by the second compiler: in strict C++20, without experimental
# features.

if(TUTTI_SECOND_COMPILER)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/libcxx_probe.cpp)
  file(WRITE ${probe} "#include <thread>\n#include <vector>\nint main() { std::vector<int>{1}.at(0); }\n")
  execute_process(COMMAND ${TUTTI_SECOND_COMPILER} -std=c++20 -stdlib=libc++ -pthread ${probe} -o ${probe}.out
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    message(WARNING "The test libcxx is left out: ${TUTTI_SECOND_COMPILER} has no libc++ (Debian: libc++-16-dev "
                    "libc++abi-16-dev).")
  else()
    tutti_test_elsewhere(libcxx ${TUTTI_SECOND_COMPILER} -std=c++20 -stdlib=libc++ -pthread)
  endif()
endif()
