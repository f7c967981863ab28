# SPDX-License-Identifier: Apache-2.0
#
# Virtual time.

if(TARGET tutti::simulation)
  tutti_add_tests(simulation simulation)
endif()
