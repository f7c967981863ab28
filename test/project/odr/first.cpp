// SPDX-License-Identifier: Apache-2.0
//
// Two translation units use the library alike, one of them compiled with NDEBUG and without RTTI; everything that both
// instantiate must be one thing in the program.

#include <tutti/tutti.hpp>

using operator_type = tutti::allreduce<tutti::communicator<tutti::loopback>, tutti::ring, tutti::sum<float>>;

struct unit_facts {
  void const* constant;
  void (operator_type::*function)(tutti::duration);
  float result;
  bool refuses;
  std::string_view spelling;
};
unit_facts facts_of_second();

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

int main() {
  unit_facts const second = facts_of_second();
  unit_facts const first{&tutti::no_rank, &operator_type::deadline, sum_of_two_ranks(), refuses_what_is_misaligned(),
                         tutti::detail::type_spelling<operator_type>()};
  bool const is_same =
      second.constant == first.constant && second.function == first.function && second.spelling == first.spelling;
  return is_same && second.result == 4.0F && first.result == 4.0F && second.refuses && first.refuses ? 0 : 1;
}
