// SPDX-License-Identifier: Apache-2.0
// test: address (which memory is read and written, not when)
#define BOOST_TEST_MODULE collective_loopback_buffers_xtensor_eigen
#include <laws/any_buffer.hpp>
#include <support/cases.hpp>
#include <tutti/transport/loopback.hpp>

support::cases const test_cases{
    {"any_buffer_is_right_or_refused", laws::any_buffer_is_right_or_refused<tutti::loopback>}};
