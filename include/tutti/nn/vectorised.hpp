// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

namespace tutti::nn {

namespace detail {

#if defined(__x86_64__)
template <class F>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void run_by_avx2(F const& f) {
  f();
}
#endif

}  // namespace detail

/// Runs f, which is loops over numbers, compiled for plain x86-64 and for AVX2; the processor says which. On others
/// just runs it.
///
/// The bits are the same: no order changes, and without FMA, which is another instruction set, nothing is fused.
/// AVX-512 would bring it, and for loops that wait for memory it has no more to give. f is inlined, with what it calls.
template <class F>
void vectorised(F const& f) {
#if defined(__x86_64__)
  if (tutti::detail::instructions() >= tutti::detail::instruction_set::avx2) {
    detail::run_by_avx2(f);
    return;
  }
#endif
  f();
}

}  // namespace tutti::nn
