// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "settings.hpp"

#include <cstddef>
#include <string>

namespace bench {

enum class operation { allreduce, broadcast };  ///< sum of floats; from rank 0

enum class inputs {
  rewritten,  ///< in place; each contributing rank rewrites its vector before each operation, as training does
  constant,   ///< out of place, from untouched vectors (broadcast: the root's is untouched)
};

enum class pace {
  back_to_back,  ///< operation after operation, one measurement of all
  barrier,       ///< all ranks meet before each operation, which is measured alone
};

/// One batch, alike for every contender.
struct work {
  operation op = operation::allreduce;
  std::size_t bytes = 4;  ///< length of each rank's vector
  std::size_t iterations = 1;
  inputs input = inputs::rewritten;
  pace timing = pace::back_to_back;
  std::string algorithm{};  ///< the contender's own word; empty: its default
  std::size_t segment = 0;  ///< bytes, for contenders that cut vectors into segments; 0: not cut

  [[nodiscard]] std::size_t count() const noexcept { return bytes / sizeof(float); }
};

inline work read_work(settings const& s) {
  work w;
  w.op = s.one_of("op", {"allreduce", "broadcast"}) == "allreduce" ? operation::allreduce : operation::broadcast;
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

/// The error of a contender that does not offer this work.
inline std::runtime_error not_offered(work const& w) {
  return std::runtime_error("algorithm \"" + w.algorithm + "\" is not offered for this operation, placement and size");
}

}  // namespace bench
