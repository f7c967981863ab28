// SPDX-License-Identifier: Apache-2.0
// test: address optimised
//
// The laws of device math, for the model used in tests.
#include <models/host_math.hpp>
#include <nn/cuda/device/device_math_laws.hpp>

BOOST_AUTO_TEST_CASE(the_model_on_the_host_keeps_the_laws) {
  laws::check_math<models::host_math>(0);
}
