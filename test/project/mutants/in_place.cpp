// SPDX-License-Identifier: Apache-2.0
//
// Ends with status 0 if working in place is safe, 1 if some interleaving breaks it. It is built with the engine as it
// is, and with each of its safety rules removed: see mutants.cmake. The topologies are selections, so that each of
// these programs compiles the engine for two types and not for five.
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
