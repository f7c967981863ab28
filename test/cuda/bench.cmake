# SPDX-License-Identifier: Apache-2.0
#
# bench/gpu is built by nvcc; where there is a GPU, it checks all values there.

if(TARGET tutti::cuda)
  add_test(NAME cuda_bench COMMAND sh ${PROJECT_SOURCE_DIR}/bench/gpu/run --part kernels --part transports
                                   --into ${CMAKE_CURRENT_BINARY_DIR}/cuda_bench)
  set_tests_properties(cuda_bench PROPERTIES TIMEOUT 1500 LABELS cuda SKIP_RETURN_CODE 77)
  tutti_test_needs(cuda_bench)
endif()
