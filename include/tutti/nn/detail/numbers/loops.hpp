// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/instructions.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

// Functions of the OpenMP runtime that oneDNN may use; weak, because a program may lack it. GOMP_parallel is a
// compiler's parallel region: the runtimes of GCC and of LLVM both have it.
extern "C" [[gnu::weak]] int omp_get_max_threads();
extern "C" [[gnu::weak]] int omp_get_num_threads();
extern "C" [[gnu::weak]] int omp_get_thread_num();
extern "C" [[gnu::weak]] void GOMP_parallel(void (*run)(void*), void* argument, unsigned threads, unsigned flags);

namespace tutti::inline v0_1_0::nn::detail::inline numbers {

#if defined(__x86_64__)
template <class F>
[[gnu::target("avx2"), gnu::flatten, gnu::noinline]] void run_by_avx2(F const& f) {
  f();
}
#endif

/// Runs f, loops over numbers, compiled for plain x86-64 and for AVX2, chosen by the processor; on other
/// architectures just runs it.
///
/// Both give equal bits: the order of operations is the same, and without FMA, a separate instruction set, nothing is
/// fused. AVX-512 would include FMA, and loops that wait for memory gain nothing from it. f and its callees are
/// inlined.
template <class F>
void vectorise(F const& f) {
#if defined(__x86_64__)
  if (tutti::detail::instructions() >= tutti::detail::instruction_set::avx2) {
    run_by_avx2(f);
    return;
  }
#endif
  f();
}

/// A loop divided over several threads.
template <class F>
class shared_loop {
 public:
  shared_loop(std::size_t count, F const& f) noexcept : count_(count), f_(f) { start_count_.store(1); }

  void run(unsigned threads) {
    GOMP_parallel(&run_part, this, threads, 0);
    end_count_.load();
  }

 private:
  static void run_part(void* loop) {
    auto& self = *static_cast<shared_loop*>(loop);
    self.start_count_.load();
    auto const threads = static_cast<std::size_t>(omp_get_num_threads());
    auto const me = static_cast<std::size_t>(omp_get_thread_num());
    self.f_(self.count_ * me / threads, self.count_ * (me + 1) / threads);
    self.end_count_.fetch_add(1);
  }

  std::size_t count_;
  F const& f_;
  // OpenMP orders the threads' accesses. These atomics show that order to the thread sanitizer, which cannot see into
  // the runtime.
  std::atomic<int> start_count_ = 0;
  std::atomic<int> end_count_ = 0;
};

/// The smallest number of values for which another thread pays.
inline constexpr std::size_t numbers_for_a_thread = std::size_t{1} << 14U;

/// Calls f(first, last) for the parts of the range from 0 to before `count`, each on a thread of its own, up to the
/// number given to `set_threads`; on the calling thread alone if a part would be shorter than `minimum`. f must not
/// depend on the division, so that results do not depend on the threads.
///
/// The threads are those of oneDNN: others would compete for the cores with these, which spin while they wait for the
/// next product.
/// @pre f does not throw; the parts are independent
template <class F>
void parallel_for(std::size_t count, std::size_t minimum, F const& f) {
  std::size_t threads = 1;
  if (GOMP_parallel != nullptr && count >= 2 * minimum) {
    threads = (std::min)(static_cast<std::size_t>(omp_get_max_threads()), count / std::max<std::size_t>(minimum, 1));
  }
  if (threads > 1) {
    shared_loop(count, f).run(static_cast<unsigned>(threads));
  } else {
    f(std::size_t{0}, count);
  }
}

/// Calls f(i) for each i below `count`; f computes the i-th element of something from the i-th elements of others.
/// Uses several threads and AVX2, with equal bits either way.
template <class F>
void elementwise(std::size_t count, F const& f) {
  parallel_for(count, numbers_for_a_thread, [&f](std::size_t first, std::size_t last) {
    vectorise([=, &f] {
      F const copy = f;  // a copy, because the captured values might alias the output
      for (std::size_t i = first; i != last; ++i) {
        copy(i);
      }
    });
  });
}

}  // namespace tutti::nn::detail::numbers
