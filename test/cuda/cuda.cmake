# SPDX-License-Identifier: Apache-2.0
#
# GPUs: groups of threads on the host, which need no vendor's library; kernels; and both on an emulated GPU.

tutti_add_tests(cuda/device device)
if(TARGET tutti::cuda)
  tutti_add_tests(cuda cuda cuda)
else()
  message(STATUS "The tests of cuda are left out: tutti::cuda is not available (see above).")
endif()
include(${CMAKE_CURRENT_SOURCE_DIR}/cuda/device/ptx/ptx.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/cuda/kernels.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/cuda/emulated_gpu/emulated_gpu.cmake)
