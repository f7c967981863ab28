// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/threads.hpp>
#include <tutti/nn/vectorised.hpp>

#include <cstddef>

namespace tutti::nn {

/// Calls f(i) for each i below `count`, which computes the i-th number of something from the i-th numbers of others:
/// on several threads, and compiled for AVX2, too. The bits are the same either way.
template <class F>
void elementwise(std::size_t count, F const& f) {
  parallel_for(count, numbers_for_a_thread, [&f](std::size_t first, std::size_t last) {
    vectorised([=, &f] {
      F const one = f;  // or what it holds might be among what it writes
      for (std::size_t i = first; i != last; ++i) {
        one(i);
      }
    });
  });
}

}  // namespace tutti::nn
