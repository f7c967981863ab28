// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/lending.hpp>
#include <support/process_ranks.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using namespace tutti::laws;
using processes = world<tutti::shared_memory, tutti::support::process_ranks>;
using threads = world<tutti::loopback, tutti::support::thread_ranks>;

BOOST_AUTO_TEST_CASE(processes_give_back_what_lies_in_shared_memory) {
  what_is_lent_comes_back<processes>({1, 48, 1000, 4096, 100'003, 1 << 20}, 64 << 10);
}
BOOST_AUTO_TEST_CASE(processes_take_back) {
  leaving_takes_back_what_was_lent<processes>(64 << 10);
}
BOOST_AUTO_TEST_CASE(threads_give_back) {
  what_is_lent_comes_back<threads>({1, 48, 1000, 4096, 100'003, 1 << 20}, 64 << 10);
}
BOOST_AUTO_TEST_CASE(threads_take_back) {
  leaving_takes_back_what_was_lent<threads>(64 << 10);
}

}  // namespace
