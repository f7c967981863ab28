# SPDX-License-Identifier: Apache-2.0
#
# RDMA.

if(TARGET tutti::verbs)
  tutti_add_tests(verbs verbs)
else()
  message(STATUS "The tests of verbs are left out: tutti::verbs is not available (see above).")
endif()
include(${CMAKE_CURRENT_SOURCE_DIR}/verbs/softroce/softroce.cmake)
