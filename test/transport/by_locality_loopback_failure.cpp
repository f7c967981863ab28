// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
#include <laws/locality_cases.hpp>
#include <support/thread_ranks.hpp>
#include <tutti/transport/loopback.hpp>

namespace {

using laws_between_hosts = tutti::laws::between_hosts<tutti::loopback, tutti::support::thread_ranks>;

support::cases const test_cases = laws_between_hosts::failing();

}  // namespace
