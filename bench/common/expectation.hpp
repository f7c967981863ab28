// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pattern.hpp"
#include "work.hpp"

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace bench {

/// The vectors of one rank in a work: their lengths, and the elements of the result.
class expectation {
 public:
  /// A part of the result: `count` elements from `begin` on. They are the sums, over ranks `first_rank` to `end_rank` -
  /// 1, of the elements of their inputs from `source_begin` on.
  struct part {
    std::size_t begin = 0;
    std::size_t count = 0;
    unsigned first_rank = 0;
    unsigned end_rank = 0;
    std::size_t source_begin = 0;
  };

  expectation(work const& w, unsigned rank, unsigned size) : input_count_(w.count()), output_count_(w.count()) {
    std::size_t const count = w.count();
    std::vector<std::size_t> const lengths = block_lengths(w, size);
    switch (w.op) {
      case operation::allreduce:
        add({0, count, 0, size});
        break;
      case operation::broadcast:
        add({0, count, 0, 1});
        break;
      case operation::allgatherv:
      case operation::allgatherv_90:
        input_count_ = lengths[rank];
        for (unsigned r = 0; r < size; ++r) {
          add({sum(lengths, r), lengths[r], r, r + 1});
        }
        break;
      case operation::reduce_scatterv:
      case operation::reduce_scatterv_90:
        output_count_ = lengths[rank];
        add({0, lengths[rank], 0, size, sum(lengths, rank)});
        break;
      case operation::alltoallv: {
        std::vector<std::size_t> const incoming = incoming_lengths(w, rank, size);
        for (unsigned r = 0; r < size; ++r) {
          add({sum(incoming, r), incoming[r], r, r + 1, sum(outgoing_lengths(w, r, size), rank)});
        }
        break;
      }
      case operation::scan:
        add({0, count, 0, rank + 1});
        break;
      case operation::exscan:
        add({0, rank == 0 ? 0 : count, 0, rank});
        break;
      case operation::halo: {
        unsigned const left = (rank + size - 1) % size;
        unsigned const right = (rank + 1) % size;
        add({0, count / 2, right, right + 1});
        add({count / 2, count - count / 2, left, left + 1, count / 2});
        break;
      }
    }
  }

  /// The number of elements of the input, and of the output.
  [[nodiscard]] std::size_t input_count() const noexcept { return input_count_; }
  [[nodiscard]] std::size_t output_count() const noexcept { return output_count_; }
  /// The parts of the result. Rank 0 of an exscan has none.
  [[nodiscard]] std::span<part const> parts() const noexcept { return parts_; }

  /// True if the output is the result of the inputs that all ranks have written in this turn.
  [[nodiscard]] bool is_met(std::span<float const> output, std::size_t turn) const noexcept {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (!sums_[i].equals(output.subspan(parts_[i].begin, parts_[i].count), turn, parts_[i].source_begin)) {
        return false;
      }
    }
    return true;
  }

 private:
  void add(part const& p) {
    if (p.count != 0) {
      parts_.push_back(p);
      sums_.push_back(pattern::sum(p.first_rank, p.end_rank));
    }
  }
  static std::size_t sum(std::span<std::size_t const> lengths, unsigned end) {
    return std::accumulate(lengths.begin(), lengths.begin() + end, std::size_t{0});
  }

  std::size_t input_count_;
  std::size_t output_count_;
  std::vector<part> parts_;
  std::vector<pattern> sums_;
};

}  // namespace bench
