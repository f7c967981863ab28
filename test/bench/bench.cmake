# SPDX-License-Identifier: Apache-2.0
#
# The logic of bench/compare, which is Python with nothing but its standard library.
find_package(Python3 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  add_test(NAME bench_comparison COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/bench/comparison.py)
  set_tests_properties(bench_comparison PROPERTIES TIMEOUT 60 LABELS bench)
else()
  message(STATUS "The test bench_comparison is left out: it needs Python 3 (Debian: python3)")
endif()
