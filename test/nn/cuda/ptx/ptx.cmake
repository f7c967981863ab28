# SPDX-License-Identifier: Apache-2.0
#
# The code that nvcc makes of the trainer's kernels.

if(TARGET tutti::nn_cuda)
  find_package(CUDAToolkit ${tutti_cuda} QUIET)
  add_test(NAME nn_cuda_ptx COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/nn/cuda/ptx/check.sh ${CUDAToolkit_NVCC_EXECUTABLE}
                                    ${PROJECT_SOURCE_DIR}/include)
  set_tests_properties(nn_cuda_ptx PROPERTIES TIMEOUT 600 LABELS nn_cuda)
  tutti_test_needs(nn_cuda_ptx)
endif()
