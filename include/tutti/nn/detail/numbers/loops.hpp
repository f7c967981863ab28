// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

// Of the OpenMP that oneDNN computes with, if it does. Weak: a program may have none. The last one is what compilers
// make of a parallel region: the libraries of GCC and of LLVM both have it.
extern "C" [[gnu::weak]] int omp_get_max_threads();
extern "C" [[gnu::weak]] int omp_get_num_threads();
extern "C" [[gnu::weak]] int omp_get_thread_num();
extern "C" [[gnu::weak]] void GOMP_parallel(void (*run)(void*), void* what, unsigned threads, unsigned flags);

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

#if defined(__x86_64__)
template <class F>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void run_by_avx2(F const& f) {
  f();
}
#endif

/// Runs f, which is loops over numbers, compiled for plain x86-64 and for AVX2; the processor says which. On others
/// just runs it.
///
/// The bits are the same: no order changes, and without FMA, which is another instruction set, nothing is fused.
/// AVX-512 would bring it, and for loops that wait for memory it has no more to give. f is inlined, with what it calls.
template <class F>
void vectorised(F const& f) {
#if defined(__x86_64__)
  if (tutti::detail::instructions() >= tutti::detail::instruction_set::avx2) {
    run_by_avx2(f);
    return;
  }
#endif
  f();
}

/// A loop that several threads run, each a part of it.
template <class F>
class shared_loop {
 public:
  shared_loop(std::size_t count, F const& f) noexcept : count_(count), f_(f) { begun_.store(1); }

  void run(unsigned threads) {
    GOMP_parallel(&run_part, this, threads, 0);
    ended_.load();
  }

 private:
  static void run_part(void* what) {
    auto& self = *static_cast<shared_loop*>(what);
    self.begun_.load();
    auto const threads = static_cast<std::size_t>(omp_get_num_threads());
    auto const me = static_cast<std::size_t>(omp_get_thread_num());
    self.f_(self.count_ * me / threads, self.count_ * (me + 1) / threads);
    self.ended_.fetch_add(1);
  }

  std::size_t count_;
  F const& f_;
  // OpenMP orders what the threads do. These say so to the thread sanitizer, which
  // cannot look into its library.
  std::atomic<int> begun_ = 0;
  std::atomic<int> ended_ = 0;
};

/// Numbers that a thread is worth being woken for.
inline constexpr std::size_t numbers_for_a_thread = std::size_t{1} << 14U;

/// Calls f(first, last) for parts of the range from 0 to before `count`, which together are all of it, each by a
/// thread of its own, as many as `set_threads` said; on the calling thread alone if there would be less than `least`
/// for each. Which numbers go into which part is nothing that f may depend on: then the results do not depend on
/// the threads.
///
/// They are the threads that oneDNN computes with: others would take the cores from those, which wait busily for their
/// next product.
/// @pre f does not throw; the parts can be done at the same time
template <class F>
void parallel_for(std::size_t count, std::size_t least, F const& f) {
  std::size_t threads = 1;
  if (GOMP_parallel != nullptr && count >= 2 * least) {
    threads = (std::min)(static_cast<std::size_t>(omp_get_max_threads()), count / std::max<std::size_t>(least, 1));
  }
  if (threads > 1) {
    shared_loop(count, f).run(static_cast<unsigned>(threads));
  } else {
    f(std::size_t{0}, count);
  }
}

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

}  // namespace tutti::nn::detail::numbers
