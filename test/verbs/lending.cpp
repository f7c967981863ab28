// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/lending.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

namespace {

using world = tutti::laws::world<tutti::verbs, tutti::support::process_ranks>;
using namespace tutti::laws;

BOOST_AUTO_TEST_CASE(loans) {
  what_is_lent_comes_back<world>({1, 48, 4096, 8183, 8184, 100'003, 128 << 10}, 8184);
}
BOOST_AUTO_TEST_CASE(long_messages_are_read) {
  what_is_lent_comes_back<world>({(128 << 10) + 1, 1 << 20}, SIZE_MAX);
}
BOOST_AUTO_TEST_CASE(leaving) {
  leaving_takes_back_what_was_lent<world>(64 << 10);
}

}  // namespace
