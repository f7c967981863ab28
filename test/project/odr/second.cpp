// SPDX-License-Identifier: Apache-2.0
//
// See first.cpp.

#include <tutti/tutti.hpp>

using operator_type = tutti::allreduce<tutti::communicator<tutti::loopback>, tutti::ring, tutti::sum<float>>;

struct unit_facts {
  void const* constant;
  void (operator_type::*function)(tutti::duration);
  float result;
  bool refuses;
  std::string_view spelling;
};

/// True if a broken precondition is detected here.
static bool refuses_what_is_misaligned() {
  alignas(4) std::byte memory[12] = {};
  try {
    tutti::detail::fold(tutti::sum<float>{}, {}, memory, memory + 5, memory, 1, 1);
    return false;
  } catch (tutti::precondition_error const&) {
    return true;
  }
}

static float sum_of_two_ranks() {
  auto results = tutti::spawn<tutti::loopback>(2, [](auto& world) {
    std::vector<float> values(5, 1.0F);
    operator_type(world, {}, {})(values);
    return values[4];
  });
  return results[0].value() + results[1].value();
}

unit_facts facts_of_second() {
  return {&tutti::no_rank, &operator_type::deadline, sum_of_two_ranks(), refuses_what_is_misaligned(),
          tutti::detail::type_spelling<operator_type>()};
}
