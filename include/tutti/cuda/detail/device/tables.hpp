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
  tables(D const& driver, Topology const& topology, Op op, rank_type n, rank_type me) {
    rank_type roots = 1;
    if constexpr (requires { op.root; }) {
      roots = n;
    }
    std::vector<std::byte> bytes;
    for (rank_type root = 0; root != roots; ++root) {
      if constexpr (requires { op.root; }) {
        op.root = root;
      }
      for (rank_type r = 0; r != n; ++r) {
        sends_snapshots_ = sends_snapshots_ || snapshots_of(step_list(topology, op, n, r, {true, true}).view());
      }
      for (bool const work_is_output : {false, true}) {
        for (bool const input_is_output : {false, true}) {
          add(step_list(topology, op, n, me, {input_is_output, work_is_output}).view(), bytes);
        }
      }
    }
    memory_ = driver.allocate(bytes.size() + 1);
    driver.upload(memory_, bytes.data(), bytes.size());
    for (step_table& t : tables_) {
      relocate(t.steps);
      relocate(t.waits);
      relocate(t.peers);
      relocate(t.reads);
      relocate(t.writes);
    }
  }
  tables(tables const&) = delete;
  tables& operator=(tables const&) = delete;
  ~tables() { D::free(memory_); }

  /// @param root 0 if the operation has none
  [[nodiscard]] step_table const& table(rank_type root, shared_places const& p) const {
    return tables_[root * 4 + (p.work_is_output ? 2U : 0U) + (p.input_is_output ? 1U : 0U)];
  }
  /// True if a step of some rank overwrites its sent block when memories coincide. Equal on all ranks.
  [[nodiscard]] bool sends_snapshots() const noexcept { return sends_snapshots_; }

 private:
  void add(step_table t, std::vector<std::byte>& bytes) {
    std::uint32_t const waits = t.step_count == 0 ? 0 : last_wait(t.steps[t.step_count - 1]);
    t.steps = append(t.steps, t.step_count, bytes);
    t.waits = append(t.waits, waits, bytes);
    t.peers = append(t.peers, t.peer_count, bytes);
    t.reads = append(t.reads, t.read_count, bytes);
    t.writes = append(t.writes, t.write_count, bytes);
    tables_.push_back(t);
  }
  [[nodiscard]] static bool snapshots_of(step_table const& t) noexcept {
    bool has_snapshot = false;
    for (std::uint32_t i = 0; i != t.step_count; ++i) {
      has_snapshot = has_snapshot || t.steps[i].snapshot;
    }
    return has_snapshot;
  }
  [[nodiscard]] static std::uint32_t last_wait(table_step const& s) noexcept {
    return s.wait + s.snapshot_waits + s.write_waits;
  }
  /// Appends elements, and returns their offset as an address.
  template <class T>
  [[nodiscard]] static T const* append(T const* elements, std::uint32_t count, std::vector<std::byte>& bytes) {
    std::size_t const offset = (bytes.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes.resize(offset + count * sizeof(T));
    if (count != 0) {
      std::memcpy(bytes.data() + offset, elements, count * sizeof(T));
    }
    return reinterpret_cast<T const*>(offset);
  }
  template <class T>
  void relocate(T const*& p) const noexcept {
    p = reinterpret_cast<T const*>(memory_ + reinterpret_cast<std::uintptr_t>(p));
  }

  std::vector<step_table> tables_;
  bool sends_snapshots_ = false;
  std::byte* memory_ = nullptr;
};

}  // namespace tutti::detail::device
