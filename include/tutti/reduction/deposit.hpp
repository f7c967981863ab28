// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/buffer.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/reduction/fold.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <cstddef>
#include <type_traits>

namespace tutti {

/// Adds numbers to as many accumulators, by the fast kernels: what a rank does with contributions of its own before
/// it adds accumulators to those of other ranks.
///
///     tutti::deposit(gradients, sums);   // again and again
///     sum(sums);                         // an allreduce with reproducible_sum<binned>
///     tutti::withdraw(sums, gradients);
///
/// @pre as many accumulators as numbers
template <buffer Numbers, class Sums>
  requires reproducible<buffer_value_t<Numbers>> && mutable_buffer_of<std::remove_reference_t<Sums>, binned>
void deposit(Numbers const& numbers, Sums&& sums) {
  expects(numbers.size() == sums.size(), "deposit: as many accumulators as numbers");
  auto* const to = reinterpret_cast<std::byte*>(sums.data());
  fold(reproducible_sum<buffer_value_t<Numbers>>{}, {.arriving_is_element = true}, to,
       reinterpret_cast<std::byte const*>(numbers.data()), to, sums.size(), 1);
}

/// Rounds sums to numbers.
/// @pre as many numbers as accumulators
template <buffer_of<binned> Sums, class Numbers>
  requires mutable_buffer<std::remove_reference_t<Numbers>> &&
           reproducible<buffer_value_t<std::remove_reference_t<Numbers>>>
void withdraw(Sums const& sums, Numbers&& numbers) {
  expects(numbers.size() == sums.size(), "withdraw: as many numbers as accumulators");
  finish(reproducible_sum<buffer_value_t<std::remove_reference_t<Numbers>>>{}, false,
         reinterpret_cast<std::byte const*>(sums.data()), reinterpret_cast<std::byte*>(numbers.data()), sums.size(), 1);
}

}  // namespace tutti
