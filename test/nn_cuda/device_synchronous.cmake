# SPDX-License-Identifier: Apache-2.0
#
# Sums on GPUs have kernels, so nvcc compiles them, and the rest of the test is compiled as the others.

if(TARGET nn_cuda_device_synchronous)
  find_package(CUDAToolkit ${tutti_cuda} QUIET)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/nn_cuda_sums_on_gpus.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -std=c++20 --expt-relaxed-constexpr -arch=${TUTTI_CUDA_ARCH} -O3
            -Werror all-warnings -Xcompiler -fPIC -DTUTTI_SEPARATE_COMPILATION -I${PROJECT_SOURCE_DIR}/include
            -I${CMAKE_CURRENT_SOURCE_DIR} -MD -MF ${object}.d -MT ${object}
            -c ${CMAKE_CURRENT_SOURCE_DIR}/nn_cuda/sums_on_gpus.cu -o ${object}
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/nn_cuda/sums_on_gpus.cu
    DEPFILE ${object}.d
    COMMENT "Compiling sums on GPUs by nvcc"
    VERBATIM)
  target_sources(nn_cuda_device_synchronous PRIVATE ${object})
endif()
