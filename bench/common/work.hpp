// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// Reductions are sums of floats, and a broadcast is from rank 0. The blocks of *_90 are nearly all at rank 0, the
/// others are mildly uneven: see `block_lengths`. In a halo each rank sends one half of its vector to each of its two
/// neighbours in a circle.
enum class operation {
  allreduce,
  broadcast,
  allgatherv,
  allgatherv_90,
  reduce_scatterv,
  reduce_scatterv_90,
  alltoallv,
  scan,
  exscan,
  halo
};
inline std::initializer_list<std::string_view> const operation_names{
    "allreduce",          "broadcast", "allgatherv", "allgatherv_90", "reduce_scatterv",
    "reduce_scatterv_90", "alltoallv", "scan",       "exscan",        "halo"};

/// True if the operation is measured in place, unless inputs are constant.
[[nodiscard]] constexpr bool is_in_place(operation op) noexcept {
  return op == operation::allreduce || op == operation::broadcast || op == operation::scan || op == operation::exscan;
}

enum class inputs {
  rewritten,  ///< in place if it can be; each contributing rank rewrites its vector before each operation
  constant,   ///< out of place, from untouched vectors (broadcast: the root's is untouched)
};

enum class pace {
  back_to_back,  ///< operation after operation, one measurement of all
  barrier,       ///< all ranks meet before each operation, which is measured alone
};

/// One batch, alike for every contender.
struct work {
  operation op = operation::allreduce;
  std::size_t bytes = 4;  ///< length of each rank's whole vector
  std::size_t iterations = 1;
  inputs input = inputs::rewritten;
  pace timing = pace::back_to_back;
  std::string algorithm{};  ///< the contender's own word; empty: its default
  std::size_t segment = 0;  ///< bytes, for contenders that cut vectors into segments; 0: not cut

  [[nodiscard]] std::size_t count() const noexcept { return bytes / sizeof(float); }
};

inline work read_work(settings const& s) {
  work w;
  w.op = static_cast<operation>(
      std::find(operation_names.begin(), operation_names.end(), s.one_of("op", operation_names)) -
      operation_names.begin());
  w.bytes = s.number("bytes", w.bytes);
  w.iterations = s.number("iterations", w.iterations);
  w.input = s.one_of("inputs", {"rewritten", "constant"}) == "rewritten" ? inputs::rewritten : inputs::constant;
  w.timing = s.one_of("pace", {"back_to_back", "barrier"}) == "barrier" ? pace::barrier : pace::back_to_back;
  w.algorithm = s.text("algorithm", "");
  w.segment = s.number("segment", 0);
  if (w.count() == 0 || w.bytes % sizeof(float) != 0 || w.iterations == 0) {
    throw std::runtime_error("bytes must be a multiple of 4, and neither bytes nor iterations zero");
  }
  return w;
}

/// The lengths of the blocks of `size` ranks, in elements. With *_90 rank 0 has nine tenths and the others equal shares
/// of the rest; else rank r has r + 1 parts of the vector.
[[nodiscard]] inline std::vector<std::size_t> block_lengths(work const& w, unsigned size) {
  bool const is_skewed = w.op == operation::allgatherv_90 || w.op == operation::reduce_scatterv_90;
  std::size_t const rest = is_skewed && size > 1 ? w.count() / 10 : 0;
  auto const begin = [&](std::size_t r) {
    if (is_skewed) {
      return r == 0 ? 0 : w.count() - rest + (size > 1 ? rest * (r - 1) / (size - 1) : 0);
    }
    return w.count() * (r * (r + 1)) / (std::size_t{size} * (size + 1));
  };
  std::vector<std::size_t> lengths(size);
  for (unsigned r = 0; r < size; ++r) {
    lengths[r] = begin(r + 1) - begin(r);
  }
  return lengths;
}

/// The lengths of the blocks that a rank sends to all ranks in an alltoallv: those of `block_lengths` in a circle, so
/// that each rank sends and receives the whole of a vector.
[[nodiscard]] inline std::vector<std::size_t> outgoing_lengths(work const& w, unsigned rank, unsigned size) {
  std::vector<std::size_t> lengths = block_lengths(w, size);
  std::rotate(lengths.begin(), lengths.end() - rank, lengths.end());
  return lengths;
}

/// The lengths of the blocks that a rank receives from all ranks in an alltoallv.
[[nodiscard]] inline std::vector<std::size_t> incoming_lengths(work const& w, unsigned rank, unsigned size) {
  std::vector<std::size_t> lengths(size);
  for (unsigned r = 0; r < size; ++r) {
    lengths[r] = outgoing_lengths(w, r, size)[rank];
  }
  return lengths;
}

/// The error of a contender that does not offer this work.
inline std::runtime_error not_offered(work const& w) {
  return std::runtime_error("algorithm \"" + w.algorithm + "\" is not offered for this operation, placement and size");
}

}  // namespace bench
