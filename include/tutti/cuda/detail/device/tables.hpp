// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/driver.hpp>
#include <tutti/cuda/detail/device/step_table.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// The step tables of one operation of a topology in device memory: for each root, and for each way in which its
/// memories may coincide.
template <driver D>
class tables {
 public:
  template <class Topology, class Op>
  tables(D const& on, Topology const& topology, Op op, rank_type n, rank_type me) {
    rank_type roots = 1;
    if constexpr (requires { op.root; }) {
      roots = n;
    }
    std::vector<std::byte> all;
    for (rank_type root = 0; root != roots; ++root) {
      if constexpr (requires { op.root; }) {
        op.root = root;
      }
      for (rank_type r = 0; r != n; ++r) {
        sends_snapshots_ = sends_snapshots_ || snapshots_of(step_list(topology, op, n, r, {true, true}).view());
      }
      for (bool const work_is_output : {false, true}) {
        for (bool const input_is_output : {false, true}) {
          keep(step_list(topology, op, n, me, {input_is_output, work_is_output}).view(), all);
        }
      }
    }
    memory_ = on.allocate(all.size() + 1);
    on.upload(memory_, all.data(), all.size());
    for (step_table& t : tables_) {
      moved(t.steps);
      moved(t.waits);
      moved(t.peers);
      moved(t.reads);
      moved(t.writes);
    }
  }
  tables(tables const&) = delete;
  tables& operator=(tables const&) = delete;
  ~tables() { D::free(memory_); }

  /// @param root 0 if the operation has none
  [[nodiscard]] step_table const& of(rank_type root, shared_places const& p) const {
    return tables_[root * 4 + (p.work_is_output ? 2U : 0U) + (p.input_is_output ? 1U : 0U)];
  }
  /// True if a step of some rank overwrites its sent block when memories coincide. Equal on all ranks.
  [[nodiscard]] bool sends_snapshots() const noexcept { return sends_snapshots_; }

 private:
  void keep(step_table t, std::vector<std::byte>& all) {
    std::uint32_t const waits = t.step_count == 0 ? 0 : last_wait(t.steps[t.step_count - 1]);
    t.steps = put(t.steps, t.step_count, all);
    t.waits = put(t.waits, waits, all);
    t.peers = put(t.peers, t.peer_count, all);
    t.reads = put(t.reads, t.read_count, all);
    t.writes = put(t.writes, t.write_count, all);
    tables_.push_back(t);
  }
  [[nodiscard]] static bool snapshots_of(step_table const& t) noexcept {
    bool some = false;
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      some = some || t.steps[i].snapshot;
    }
    return some;
  }
  [[nodiscard]] static std::uint32_t last_wait(table_step const& s) noexcept {
    return s.wait + s.snapshot_waits + s.write_waits;
  }
  /// Appends elements, and returns their offset as an address.
  template <class T>
  [[nodiscard]] static T const* put(T const* from, std::uint32_t count, std::vector<std::byte>& all) {
    std::size_t const at = (all.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    all.resize(at + count * sizeof(T));
    if (count != 0) {
      std::memcpy(all.data() + at, from, count * sizeof(T));
    }
    return reinterpret_cast<T const*>(at);
  }
  template <class T>
  void moved(T const*& p) const noexcept {
    p = reinterpret_cast<T const*>(memory_ + reinterpret_cast<std::uintptr_t>(p));
  }

  std::vector<step_table> tables_;
  bool sends_snapshots_ = false;
  std::byte* memory_ = nullptr;
};

}  // namespace tutti::detail::device
