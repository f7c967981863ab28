// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <queue>
#include <vector>

namespace emulated_gpu {

/// Allocates registers. A kernel of PTX has thousands, so a place is reused once its value is dead.
class placing {
 public:
  static void of(kernel& k) {
    placing p(k);
    p.divide();
    p.find_alive();
    p.give_places();
  }

 private:
  using set = std::vector<std::uint64_t>;
  struct stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::vector<std::size_t> next;
    set read_first;  ///< registers read before they are written
    set written;
    set alive_before;
    set alive_behind;
  };

  explicit placing(kernel& k) : k_(k), words_((k.registers + 63) / 64) {}

  [[nodiscard]] static bool has(set const& s, std::uint32_t r) { return (s[r / 64] >> (r % 64) & 1) != 0; }
  static void add(set& s, std::uint32_t r) { s[r / 64] |= std::uint64_t{1} << (r % 64); }

  template <class F>
  void for_each_read(instruction const& i, F const& f) const {
    auto const use = [&](std::uint32_t r) {
      if (r < k_.registers) {
        f(r);
      }
    };
    for (std::uint32_t const r : i.from) {
      use(r);
    }
    use(i.address);
    use(i.members);
    use(i.guard);
    // A false guard keeps the previous value.
    if (i.guard != instruction::none) {
      for (std::uint32_t const r : i.to) {
        use(r);
      }
    }
  }
  template <class F>
  void for_each_written(instruction const& i, F const& f) const {
    for (std::uint32_t const r : i.to) {
      if (r < k_.registers) {
        f(r);
      }
    }
  }

  void divide() {
    auto const& code = k_.code;
    std::vector<bool> begins(code.size() + 1);
    begins[0] = true;
    for (std::size_t at = 0; at != code.size(); ++at) {
      if (code[at].what == instruction::kind::jump) {
        begins[code[at].target] = true;
        begins[at + 1] = true;
      } else if (code[at].what == instruction::kind::leave) {
        begins[at + 1] = true;
      }
    }
    std::vector<std::size_t> number(code.size() + 1);
    for (std::size_t at = 0; at != code.size(); ++at) {
      if (begins[at]) {
        stretches_.emplace_back().begin = at;
      }
      number[at] = stretches_.size() - 1;
      stretches_.back().end = at + 1;
    }
    for (stretch& s : stretches_) {
      instruction const& last = code[s.end - 1];
      bool const jumps = last.what == instruction::kind::jump;
      if (jumps) {
        s.next.push_back(number[last.target]);
      }
      bool const goes_on = last.guard != instruction::none || (!jumps && last.what != instruction::kind::leave);
      if (goes_on && s.end != code.size()) {
        s.next.push_back(number[s.end]);
      }
      s.read_first = s.written = s.alive_before = s.alive_behind = set(words_);
      for (std::size_t at = s.begin; at != s.end; ++at) {
        for_each_read(code[at], [&](std::uint32_t r) {
          if (!has(s.written, r)) {
            add(s.read_first, r);
          }
        });
        for_each_written(code[at], [&](std::uint32_t r) { add(s.written, r); });
      }
    }
  }
  void find_alive() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto s = stretches_.rbegin(); s != stretches_.rend(); ++s) {
        for (std::size_t w = 0; w != words_; ++w) {
          std::uint64_t behind = 0;
          for (std::size_t const n : s->next) {
            behind |= stretches_[n].alive_before[w];
          }
          std::uint64_t const before = s->read_first[w] | (behind & ~s->written[w]);
          changed = changed || before != s->alive_before[w];
          s->alive_behind[w] = behind;
          s->alive_before[w] = before;
        }
      }
    }
  }
  void give_places() {
    struct span {
      std::size_t first = SIZE_MAX;
      std::size_t last = 0;
      std::uint32_t number = 0;
    };
    std::vector<span> spans(k_.registers);
    auto const reaches = [&](std::uint32_t r, std::size_t at) {
      spans[r].number = r;
      spans[r].first = std::min(spans[r].first, at);
      spans[r].last = std::max(spans[r].last, at);
    };
    for (stretch const& s : stretches_) {
      for (std::uint32_t r = 0; r != k_.registers; ++r) {
        if (has(s.alive_before, r)) {
          reaches(r, s.begin);
        }
        if (has(s.alive_behind, r)) {
          reaches(r, s.end);
        }
      }
      for (std::size_t at = s.begin; at != s.end; ++at) {
        for_each_read(k_.code[at], [&](std::uint32_t r) { reaches(r, at); });
        for_each_written(k_.code[at], [&](std::uint32_t r) { reaches(r, at); });
      }
    }
    std::sort(spans.begin(), spans.end(), [](span const& a, span const& b) { return a.first < b.first; });
    using ending = std::pair<std::size_t, std::uint32_t>;
    std::priority_queue<ending, std::vector<ending>, std::greater<>> taken;
    std::vector<std::uint32_t> free;
    std::vector<std::uint32_t> place(k_.registers);
    std::uint32_t count = 0;
    for (span const& s : spans) {
      if (s.first == SIZE_MAX) {
        break;
      }
      for (; !taken.empty() && taken.top().first < s.first; taken.pop()) {
        free.push_back(taken.top().second);
      }
      std::uint32_t at = count;
      if (free.empty()) {
        ++count;
      } else {
        at = free.back();
        free.pop_back();
      }
      place[s.number] = at;
      taken.emplace(s.last, at);
    }
    auto const put = [&](std::uint32_t& r) {
      if (r != instruction::none) {
        r = r < k_.registers ? place[r] : r - k_.registers + count;
      }
    };
    for (instruction& i : k_.code) {
      std::for_each(i.to.begin(), i.to.end(), put);
      std::for_each(i.from.begin(), i.from.end(), put);
      put(i.address);
      put(i.members);
      put(i.guard);
    }
    k_.registers = count;
  }

  kernel& k_;
  std::size_t words_;
  std::vector<stretch> stretches_;
};

}  // namespace emulated_gpu
