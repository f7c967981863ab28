# SPDX-License-Identifier: Apache-2.0
#
# The code that a compiler for GPUs makes of cuda/detail/device.

find_program(TUTTI_GPU_COMPILER NAMES nvcc clang++-16 clang++ HINTS /usr/local/cuda/bin
             DOC "nvcc, or a clang, that makes code for GPUs, for the test device_ptx")
if(TUTTI_GPU_COMPILER)
  add_test(NAME device_ptx COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/cuda/device/ptx/check.sh ${TUTTI_GPU_COMPILER}
                                   ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(device_ptx PROPERTIES TIMEOUT 600 LABELS device SKIP_RETURN_CODE 77)
  tutti_test_needs(device_ptx)
else()
  message(STATUS "The test device_ptx is left out: it needs nvcc, or clang (Debian: clang-16)")
endif()
