// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/expects.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>

// OpenBLAS declares this in its cblas.h, which cannot be included beside the declarations that
// xtensor-blas brings. Weak, because another BLAS does not have it.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);
// Of the OpenMP that oneDNN computes with, if it does. The last one is what compilers make of a parallel region: the
// libraries of GCC and of LLVM both have it.
extern "C" [[gnu::weak]] void omp_set_num_threads(int);
extern "C" [[gnu::weak]] int omp_get_max_threads();
extern "C" [[gnu::weak]] int omp_get_num_threads();
extern "C" [[gnu::weak]] int omp_get_thread_num();
extern "C" [[gnu::weak]] void GOMP_parallel(void (*run)(void*), void* what, unsigned threads, unsigned flags);

namespace tutti::nn {

/// How many threads each matrix product of this process, and each convolution and each loop of the calling thread,
/// may use. A rank that computes beside others on the same cores wants one; all cores are taken otherwise. Products
/// by a BLAS other than OpenBLAS, and what oneDNN computes without OpenMP, do not know of it. A process that forks, as
/// `spawn` does over processes, does so before it computes with several threads: they do not come with the child.
inline void set_threads(int threads) {
  expects(threads >= 1, "set_threads: at least one thread computes");
  if (openblas_set_num_threads != nullptr) {
    openblas_set_num_threads(threads);
  }
  if (omp_set_num_threads != nullptr) {
    omp_set_num_threads(threads);
  }
}

namespace detail {

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
  // OpenMP orders what the threads do. These say so to whoever cannot look into its library: the thread sanitizer.
  std::atomic<int> begun_ = 0;
  std::atomic<int> ended_ = 0;
};

}  // namespace detail

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
    threads = std::min(static_cast<std::size_t>(omp_get_max_threads()), count / std::max<std::size_t>(least, 1));
  }
  if (threads > 1) {
    detail::shared_loop(count, f).run(static_cast<unsigned>(threads));
  } else {
    f(std::size_t{0}, count);
  }
}

}  // namespace tutti::nn
