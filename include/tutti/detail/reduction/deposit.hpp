// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/fold.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail {

/// Adds numbers to as many accumulators, by the fast kernels: what a rank does with contributions of its own before
/// it adds accumulators to those of other ranks.
///
///     tutti::detail::deposit(gradients, sums);   // again and again
///     sum(sums);                         // an allreduce with reproducible_sum<binned>
///     tutti::detail::withdraw(sums, gradients);
///
/// @pre as many accumulators as numbers
template <buffer Numbers, mutable_buffer_of<binned> Sums>
  requires reproducible<buffer_value_t<Numbers>>
void deposit(Numbers const& numbers, Sums&& sums) {
  auto const from = elements(numbers);
  auto const into = elements(sums);
  expects(from.size() == into.size(), "deposit: there must be an accumulator for each of the ", from.size(),
          " numbers, not ", into.size());
  auto* const to = reinterpret_cast<std::byte*>(into.data());
  fold(reproducible_sum<buffer_value_t<Numbers>>{}, {.arriving_is_element = true}, to,
       reinterpret_cast<std::byte const*>(from.data()), to, into.size(), 1);
}

/// Rounds sums to numbers.
/// @pre as many numbers as accumulators
template <buffer_of<binned> Sums, mutable_buffer Numbers>
  requires reproducible<buffer_value_t<Numbers>>
void withdraw(Sums const& sums, Numbers&& numbers) {
  auto const from = elements(sums);
  auto const to = elements(numbers);
  expects(to.size() == from.size(), "withdraw: there must be a number for each of the ", from.size(),
          " accumulators, not ", to.size());
  finish(reproducible_sum<buffer_value_t<Numbers>>{}, false, reinterpret_cast<std::byte const*>(from.data()),
         reinterpret_cast<std::byte*>(to.data()), from.size(), 1);
}

}  // namespace tutti::detail
