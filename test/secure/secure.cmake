# SPDX-License-Identifier: Apache-2.0
#
# Proofs and encryption by OpenSSL.

if(TARGET tutti::secure)
  tutti_add_tests(secure secure secure)
else()
  message(STATUS "The tests of secure are left out: tutti::secure is not available (see above).")
endif()
