// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#define BOOST_TEST_MODULE collective_tcp_buffers_xtensor_eigen
#include <laws/any_buffer.hpp>
#include <support/cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases{{"any_buffer_is_right_or_refused", laws::any_buffer_is_right_or_refused<tutti::tcp>}};
