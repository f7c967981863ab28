// SPDX-License-Identifier: Apache-2.0
// test: address optimised
//
// The laws of a device's math, of the model that stands for one in the tests.
#include <models/host_math.hpp>
#include <nn/cuda/device/device_math_laws.hpp>

BOOST_AUTO_TEST_CASE(the_model_on_the_host_keeps_the_laws) {
  laws::check_math<models::host_math>(0);
}
