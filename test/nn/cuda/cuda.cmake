# SPDX-License-Identifier: Apache-2.0
#
# The trainer on devices: on a model device of the host, and on GPUs.

tutti_add_tests(nn/cuda/device nn nn)
if(TARGET tutti::nn_cuda)
  tutti_add_tests(nn/cuda nn_cuda nn_cuda)
else()
  message(STATUS "The tests of nn/cuda are left out: tutti::nn_cuda is not available (see above).")
endif()
include(${CMAKE_CURRENT_SOURCE_DIR}/nn/cuda/ptx/ptx.cmake)
include(${CMAKE_CURRENT_SOURCE_DIR}/nn/cuda/device_synchronous.cmake)
