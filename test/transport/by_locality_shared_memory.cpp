// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <laws/locality_cases.hpp>
#include <support/process_ranks.hpp>
#include <tutti/transport/shared_memory.hpp>

namespace {

using laws_between_hosts = tutti::laws::between_hosts<tutti::shared_memory, tutti::support::process_ranks>;

support::cases const test_cases = laws_between_hosts::delivering();

}  // namespace
