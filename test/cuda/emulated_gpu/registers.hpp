// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <vector>

namespace emulated_gpu {

/// Allocates registers. A kernel of PTX has thousands, so a register is reused once its value is dead.
class register_allocation {
 public:
  static void run(kernel& k) {
    register_allocation p(k);
    p.find_blocks();
    p.find_liveness();
    p.assign_registers();
  }

 private:
  using register_set = std::vector<std::uint64_t>;
  struct basic_block {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<std::size_t> next;
    register_set read_first;  ///< registers read before they are written
    register_set writes;
    register_set live_in;
    register_set live_out;
  };

  explicit register_allocation(kernel& k) : k_(k), words_((k.registers + 63) / 64) {}

  [[nodiscard]] static bool has(register_set const& s, std::uint32_t r) { return (s[r / 64] >> (r % 64) & 1) != 0; }
  static void add(register_set& s, std::uint32_t r) { s[r / 64] |= std::uint64_t{1} << (r % 64); }

  template <class F>
  void for_each_read(instruction const& i, F const& f) const {
    auto const use = [&](std::uint32_t r) {
      if (r < k_.registers) {
        f(r);
      }
    };
    for (std::uint32_t const r : i.sources) {
      use(r);
    }
    use(i.address);
    use(i.members);
    use(i.guard);
    // A false guard keeps the previous value.
    if (i.guard != instruction::none) {
      for (std::uint32_t const r : i.destinations) {
        use(r);
      }
    }
  }
  template <class F>
  void for_each_write(instruction const& i, F const& f) const {
    for (std::uint32_t const r : i.destinations) {
      if (r < k_.registers) {
        f(r);
      }
    }
  }

  void find_blocks() {
    auto const& code = k_.code;
    std::vector<bool> begins(code.size() + 1);
    begins[0] = true;
    for (std::size_t index = 0; index != code.size(); ++index) {
      if (code[index].kind == instruction::kind_type::jump) {
        begins[code[index].target] = true;
        begins[index + 1] = true;
      } else if (code[index].kind == instruction::kind_type::leave) {
        begins[index + 1] = true;
      }
    }
    std::vector<std::size_t> block_number(code.size() + 1);
    for (std::size_t index = 0; index != code.size(); ++index) {
      if (begins[index]) {
        blocks_.emplace_back().begin = index;
      }
      block_number[index] = blocks_.size() - 1;
      blocks_.back().end = index + 1;
    }
    for (basic_block& s : blocks_) {
      instruction const& last = code[s.end - 1];
      bool const jumps = last.kind == instruction::kind_type::jump;
      if (jumps) {
        s.next.push_back(block_number[last.target]);
      }
      bool const falls_through =
          last.guard != instruction::none || (!jumps && last.kind != instruction::kind_type::leave);
      if (falls_through && s.end != code.size()) {
        s.next.push_back(block_number[s.end]);
      }
      s.read_first = s.writes = s.live_in = s.live_out = register_set(words_);
      for (std::size_t index = s.begin; index != s.end; ++index) {
        for_each_read(code[index], [&](std::uint32_t r) {
          if (!has(s.writes, r)) {
            add(s.read_first, r);
          }
        });
        for_each_write(code[index], [&](std::uint32_t r) { add(s.writes, r); });
      }
    }
  }
  void find_liveness() {
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (auto s = blocks_.rbegin(); s != blocks_.rend(); ++s) {
        for (std::size_t w = 0; w != words_; ++w) {
          std::uint64_t live_out = 0;
          for (std::size_t const n : s->next) {
            live_out |= blocks_[n].live_in[w];
          }
          std::uint64_t const live_in = s->read_first[w] | (live_out & ~s->writes[w]);
          has_changed = has_changed || live_in != s->live_in[w];
          s->live_out[w] = live_out;
          s->live_in[w] = live_in;
        }
      }
    }
  }
  void assign_registers() {
    struct interval {
      std::size_t first = SIZE_MAX;
      std::size_t last = 0;
      std::uint32_t number = 0;
    };
    std::vector<interval> intervals(k_.registers);
    auto const extend = [&](std::uint32_t r, std::size_t index) {
      intervals[r].number = r;
      intervals[r].first = std::min(intervals[r].first, index);
      intervals[r].last = std::max(intervals[r].last, index);
    };
    for (basic_block const& s : blocks_) {
      for (std::uint32_t r = 0; r != k_.registers; ++r) {
        if (has(s.live_in, r)) {
          extend(r, s.begin);
        }
        if (has(s.live_out, r)) {
          extend(r, s.end);
        }
      }
      for (std::size_t index = s.begin; index != s.end; ++index) {
        for_each_read(k_.code[index], [&](std::uint32_t r) { extend(r, index); });
        for_each_write(k_.code[index], [&](std::uint32_t r) { extend(r, index); });
      }
    }
    std::sort(intervals.begin(), intervals.end(),
              [](interval const& a, interval const& b) { return a.first < b.first; });
    using ending = std::pair<std::size_t, std::uint32_t>;
    std::priority_queue<ending, std::vector<ending>, std::greater<>> active;
    std::vector<std::uint32_t> free_numbers;
    std::vector<std::uint32_t> new_numbers(k_.registers);
    std::uint32_t count = 0;
    for (interval const& s : intervals) {
      if (s.first == SIZE_MAX) {
        break;
      }
      for (; !active.empty() && active.top().first < s.first; active.pop()) {
        free_numbers.push_back(active.top().second);
      }
      std::uint32_t index = count;
      if (free_numbers.empty()) {
        ++count;
      } else {
        index = free_numbers.back();
        free_numbers.pop_back();
      }
      new_numbers[s.number] = index;
      active.emplace(s.last, index);
    }
    auto const renumber = [&](std::uint32_t& r) {
      if (r != instruction::none) {
        r = r < k_.registers ? new_numbers[r] : r - k_.registers + count;
      }
    };
    for (instruction& i : k_.code) {
      std::for_each(i.destinations.begin(), i.destinations.end(), renumber);
      std::for_each(i.sources.begin(), i.sources.end(), renumber);
      renumber(i.address);
      renumber(i.members);
      renumber(i.guard);
    }
    k_.registers = count;
  }

  kernel& k_;
  std::size_t words_;
  std::vector<basic_block> blocks_;
};

}  // namespace emulated_gpu
