// SPDX-License-Identifier: Apache-2.0
//
// Ends with status 0 if in-place operations are safe, with 1 if some interleaving breaks them. Built with the
// unchanged engine, and with each of its safety rules removed: see mutants.cmake. The topologies are selections, so
// that each program compiles the engine for two types instead of five.
#include <laws/in_place_safety.hpp>
#include <models/triangle.hpp>
#include <tutti/topology/selection.hpp>

#include <cstdio>

int main() {
  using enum tutti::schedule_kind;
  tutti::sum<std::uint32_t> const add;
  std::string complaint;
  try {
    for (auto const kind : {ring, doubling, butterfly, direct}) {
      complaint = complaint.empty() ? laws::in_place_safety_everywhere(tutti::selection(kind), add, 20) : complaint;
    }
    complaint = complaint.empty() ? laws::in_place_safety_everywhere(models::triangle{}, add, 20) : complaint;
  } catch (std::exception const& e) {
    complaint = e.what();
  }
  std::puts(complaint.empty() ? "safe" : complaint.c_str());
  return complaint.empty() ? 0 : 1;
}
