# SPDX-License-Identifier: Apache-2.0
#
# The trainer.

if(NOT TARGET tutti::nn)
  message(WARNING "The tests of nn are left out: tutti::nn is not available (see above).")
  return()
endif()
tutti_add_tests(nn nn nn)
if(TARGET tutti::simulation)
  tutti_add_tests(nn/simulation nn nn)
endif()
if(TARGET tutti::nn_images)
  tutti_add_tests(nn/images nn_images nn_images)
endif()
include(${CMAKE_CURRENT_SOURCE_DIR}/nn/cuda/cuda.cmake OPTIONAL)
