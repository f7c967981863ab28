// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../common/batch.hpp"
#include "limit_add.hpp"
#include "limit_board.hpp"

#include <algorithm>
#include <cstring>

namespace bench {

/// The fastest that threads can be: pinned, with pointers to each other's vectors, without matching, bounds checks or
/// failures. The fastest algorithm depends on the size:
///
///     line     up to 56 bytes travel in the cache line that announces them
///     slots    each contributing rank copies its vector to a slot, from which all others read it; with several slots
///              no rank soon waits for readers
///     blocks   each rank sums its block of all vectors in place, then fetches the other blocks; a broadcast reads
///              the root's vector in place
///     push     like blocks, but each writes its sums into all vectors itself
///     stream   broadcast only: like slots, but a vector travels in pieces, which stay in the cache
class memory_limit {
 public:
  static constexpr bool ranks_are_threads = true;

  memory_limit(unsigned rank, board& state)
      : rank_(rank), size_(static_cast<unsigned>(state.places.size())), state_(&state), steps_(rank, state) {}

  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t messages() const noexcept { return -1; }
  void barrier() noexcept { steps_.meet(); }

  template <class Use>
  void prepare(work const& w, vectors const& v, Use const& use) {
    if (w.op != operation::allreduce && w.op != operation::broadcast) {
      throw not_offered(w);
    }
    board::place& own_place = state_->places[rank_];
    own_place.input = v.input.data();
    own_place.output = v.output.data();
    steps_.meet();
    bool const is_allreduce = w.op == operation::allreduce;
    if (w.algorithm == "line" && w.count() <= board::line_floats) {
      is_allreduce ? use([&] { sum_of_lines(v); }) : use([&] { line_of_root(v.output); });
    } else if (w.algorithm == "slots" && w.count() <= board::slots_floats / 2) {
      depth_ = std::min(board::lines_deep, board::slots_floats / w.count());
      is_allreduce ? use([&] { sum_of_slots(v); }) : use([&] { slot_of_root(v.output); });
    } else if (w.algorithm == "blocks") {
      is_allreduce ? use([&] { sum_of_blocks(v, false); }) : use([&] { vector_of_root(v.output); });
    } else if (w.algorithm == "push" && is_allreduce) {
      use([&] { sum_of_blocks(v, true); });
    } else if (w.algorithm == "stream" && !is_allreduce) {
      depth_ = board::slots_floats / stream_floats;
      use([&] { stream_of_root(v.output); });
    } else {
      throw not_offered(w);
    }
  }

 private:
  static constexpr std::size_t stream_floats = 4096;
  static constexpr std::size_t tile = 2048;  ///< floats; sums are passed on from the first-level cache

  void sum_of_lines(vectors const& v) noexcept {
    std::uint64_t const turn = ++lines_;
    board::line& own_line = state_->places[rank_].lines[turn % board::lines_deep];
    std::memcpy(own_line.values.data(), v.input.data(), v.input.size_bytes());
    own_line.number.store(turn, std::memory_order_release);
    float const* partial_sum = v.input.data();
    for (unsigned k = 1; k < size_; ++k) {
      board::line const& line = state_->places[(rank_ + k) % size_].lines[turn % board::lines_deep];
      steps_.await(line.number, turn);
      add(v.output.data(), partial_sum, line.values.data(), v.output.size());
      partial_sum = v.output.data();
    }
  }

  void line_of_root(std::span<float> v) noexcept {
    std::uint64_t const turn = ++lines_;
    board::line& line = state_->places[0].lines[turn % board::lines_deep];
    if (rank_ == 0) {
      wait_for_readers(board::lines_deep);
      std::memcpy(line.values.data(), v.data(), v.size_bytes());
      line.number.store(turn, std::memory_order_release);
    } else {
      steps_.await(line.number, turn);
      std::memcpy(v.data(), line.values.data(), v.size_bytes());
    }
    steps_.announce();
  }

  [[nodiscard]] float* slot(unsigned r, std::uint64_t turn) const noexcept {
    return state_->places[r].slots.data() + turn % depth_ * (board::slots_floats / depth_);
  }

  void sum_of_slots(vectors const& v) noexcept {
    std::uint64_t const turn = steps_.number() + 1;
    std::memcpy(slot(rank_, turn), v.input.data(), v.input.size_bytes());
    steps_.announce();
    float const* partial_sum = v.input.data();
    for (unsigned k = 1; k < size_; ++k) {
      unsigned const r = (rank_ + k) % size_;
      steps_.await(state_->places[r].number, turn);
      add(v.output.data(), partial_sum, slot(r, turn), v.output.size());
      partial_sum = v.output.data();
    }
  }

  void slot_of_root(std::span<float> v) noexcept {
    std::uint64_t const turn = steps_.number() + 1;
    if (rank_ == 0) {
      wait_for_readers(depth_);
      std::memcpy(slot(0, turn), v.data(), v.size_bytes());
    } else {
      steps_.await(state_->places[0].number, turn);
      std::memcpy(v.data(), slot(0, turn), v.size_bytes());
    }
    steps_.announce();
  }
  void stream_of_root(std::span<float> v) noexcept {
    for (std::size_t i = 0; i < v.size(); i += stream_floats) {
      slot_of_root(v.subspan(i, std::min(stream_floats, v.size() - i)));
    }
  }
  /// Waits until the next slot has been read; it was filled `depth` operations ago.
  void wait_for_readers(std::size_t depth) noexcept {
    std::uint64_t const next = steps_.number() + 1;
    steps_.await_all(next > depth ? next - depth : 0);
  }

  void sum_of_blocks(vectors const& v, bool push) noexcept {
    auto const begin = [n = v.output.size(), this](unsigned r) { return n * r / size_; };
    steps_.meet();  // all inputs are there
    for (std::size_t i = begin(rank_); i < begin(rank_ + 1); i += tile) {
      std::size_t const n = std::min(tile, begin(rank_ + 1) - i);
      float const* sum = v.input.data();
      for (unsigned k = 1; k < size_; ++k) {
        add(v.output.data() + i, sum + i, state_->places[(rank_ + k) % size_].input + i, n);
        sum = v.output.data();
      }
      for (unsigned k = 1; push && k < size_; ++k) {
        std::memcpy(state_->places[(rank_ + k) % size_].output + i, sum + i, n * sizeof(float));
      }
    }
    steps_.meet();  // all sums are there
    if (!push) {
      for (unsigned k = 1; k < size_; ++k) {
        unsigned const r = (rank_ + k) % size_;
        std::memcpy(v.output.data() + begin(r), state_->places[r].output + begin(r),
                    (begin(r + 1) - begin(r)) * sizeof(float));
      }
      steps_.meet();  // all have been read
    }
  }

  void vector_of_root(std::span<float> v) noexcept {
    steps_.meet();
    if (rank_ != 0) {
      std::memcpy(v.data(), state_->places[0].output, v.size_bytes());
    }
    steps_.meet();
  }

  unsigned rank_;
  unsigned size_;
  board* state_;
  steps steps_;
  std::uint64_t lines_ = 0;  ///< number of lines used
  std::size_t depth_ = 2;    ///< number of slots
};

}  // namespace bench
