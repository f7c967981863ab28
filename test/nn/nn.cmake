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

# NumPy computes what saved models predict. A distribution's NumPy belongs to its own Python.
find_program(python_with_numpy NAMES /usr/bin/python3 python3 NO_CACHE)
if(python_with_numpy)
  add_test(NAME nn_saved_model_in_numpy
           COMMAND ${python_with_numpy} ${CMAKE_CURRENT_SOURCE_DIR}/nn/saved_model.py $<TARGET_FILE:nn_saved_model>)
  set_tests_properties(nn_saved_model_in_numpy PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "${environment}" LABELS nn
                                                          SKIP_RETURN_CODE 77)
  tutti_test_needs(nn_saved_model_in_numpy nn_saved_model)
else()
  message(STATUS "The test nn_saved_model_in_numpy is left out: it needs Python 3 (Debian: python3)")
endif()
