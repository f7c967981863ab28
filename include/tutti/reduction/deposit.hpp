// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/expects.hpp>
#include <tutti/reduction/fold.hpp>
#include <tutti/reduction/reproducible_sum.hpp>

#include <cstddef>
#include <span>
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
template <class T>
void deposit(std::span<T> numbers, std::span<binned> sums) {
  using number = std::remove_const_t<T>;
  expects(numbers.size() == sums.size(), "deposit: as many accumulators as numbers");
  auto* const to = reinterpret_cast<std::byte*>(sums.data());
  fold(reproducible_sum<number>{}, {.arriving_is_element = true}, to,
       reinterpret_cast<std::byte const*>(numbers.data()), to, sums.size(), 1);
}

/// Rounds sums to numbers.
/// @pre as many numbers as accumulators
template <class T>
void withdraw(std::span<binned const> sums, std::span<T> numbers) {
  expects(numbers.size() == sums.size(), "withdraw: as many numbers as accumulators");
  finish(reproducible_sum<T>{}, false, reinterpret_cast<std::byte const*>(sums.data()),
         reinterpret_cast<std::byte*>(numbers.data()), sums.size(), 1);
}

}  // namespace tutti
