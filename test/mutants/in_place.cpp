// SPDX-License-Identifier: Apache-2.0
//
// Ends with status 0 if working in place is safe, 1 if some interleaving breaks it. It is built with
// the engine as it is, and with each of its safety rules removed: see mutants.cmake.
#include <laws/in_place_safety.hpp>
#include <models/triangle.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>

#include <cstdio>

int main() {
  using some = laws::topologies<tutti::ring, tutti::doubling, tutti::butterfly, tutti::direct, models::triangle>;
  std::string complaint;
  try {
    complaint = laws::in_place_safety_everywhere<some>(tutti::sum<std::uint32_t>{}, 20);
  } catch (std::exception const& e) {
    complaint = e.what();
  }
  std::puts(complaint.empty() ? "safe" : complaint.c_str());
  return complaint.empty() ? 0 : 1;
}
