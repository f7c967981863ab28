// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/dataset.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::nn {

/// Makes `count` images of digits with random labels. Image i is a function of the seed and `first + i`, so disjoint
/// parts of one stream serve as training and test sets.
[[nodiscard]] TUTTI_DECL dataset digits(std::size_t count, std::uint64_t seed, std::uint64_t first = 0);

}  // namespace tutti::nn

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/data/digits.ipp>
#endif
