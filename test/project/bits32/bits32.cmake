# SPDX-License-Identifier: Apache-2.0
#
# Builds the library for a 32-bit system, with file sizes of 64 bits as elsewhere.

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
  tutti_test_elsewhere(bits32 ${CMAKE_CXX_COMPILER} ${bits32})
endif()
