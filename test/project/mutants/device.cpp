// SPDX-License-Identifier: Apache-2.0
//
// Ends with status 0 if thread groups of a device give the engine's results for schedules, with 1 if they do not in
// some order. Built with their unchanged code, and with each of its safety rules removed: see mutants.cmake.
#include <laws/device.hpp>
#include <models/triangle.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <cstdio>

namespace {

template <class Topology>
std::string in_many_orders(Topology const& topology) {
  for (tutti::rank_type n : {2U, 3U, 4U, 8U}) {
    for (bool const in_place : {true, false}) {
      for (std::uint64_t seed = 1; seed != 7; ++seed) {
        laws::device_case<tutti::op::allreduce, tutti::sum<float>> const c{{}, {}, n, 37, in_place};
        for (bool const apart : {false, true}) {
          std::string wrong = laws::device_has_bits_of_engine(c, topology, {2, 2, seed, 3, apart});
          if (!wrong.empty()) {
            return wrong;
          }
        }
      }
    }
  }
  return {};
}

/// The fused forms, with every rank in place, none, or some.
std::string in_many_orders_fused() {
  for (bool const in_one_hop : {false, true}) {
    for (std::uint32_t const in_place : {0U, 7U, 2U}) {
      for (std::uint64_t seed = 1; seed != 13; ++seed) {
        for (bool const apart : {false, true}) {
          std::string wrong =
              laws::fused_has_bits_of_engine<3>(tutti::sum<float>{}, 37, in_place, in_one_hop, seed, apart);
          if (!wrong.empty()) {
            return wrong;
          }
        }
      }
    }
  }
  return {};
}

}  // namespace

int main() {
  using enum tutti::schedule_kind;
  std::string complaint;
  try {
    complaint = in_many_orders_fused();  // takes a moment, and most mutants fail there
    for (auto const kind : {ring, doubling, butterfly, direct}) {
      complaint = complaint.empty() ? in_many_orders(tutti::selection(kind)) : complaint;
    }
    complaint = complaint.empty() ? in_many_orders(models::triangle{}) : complaint;
  } catch (std::exception const& e) {
    complaint = e.what();
  }
  std::puts(complaint.empty() ? "safe" : complaint.c_str());
  return complaint.empty() ? 0 : 1;
}
