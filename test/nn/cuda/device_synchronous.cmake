# SPDX-License-Identifier: Apache-2.0
#
# Sums on GPUs contain kernels, so nvcc compiles them; the rest of the test is compiled normally.

if(TARGET nn_cuda_device_synchronous)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/nn_cuda_sums_on_gpus.o)
  tutti_compile_by_nvcc(${object} ${CMAKE_CURRENT_SOURCE_DIR}/nn/cuda/sums_on_gpus.cu ${PROJECT_SOURCE_DIR}/include
                        ${CMAKE_CURRENT_SOURCE_DIR})
  target_sources(nn_cuda_device_synchronous PRIVATE ${object})
endif()
