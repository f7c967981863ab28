// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE collective_tcp_lifted
#include <laws/operator_cases.hpp>
#include <tutti/transport/tcp.hpp>

support::cases const test_cases{
    {"accumulators_need_not_be_elements", laws::accumulators_need_not_be_elements<tutti::tcp>}};
