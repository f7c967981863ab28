// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

// Declared here because OpenBLAS's cblas.h conflicts with the declarations of xtensor-blas. Weak, because other BLAS
// libraries lack it.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);
// A function of the OpenMP runtime that oneDNN may use.
extern "C" [[gnu::weak]] void omp_set_num_threads(int);

namespace tutti::inline v0_1_0::nn {

/// Limits the threads of each matrix product of this process, and of each convolution and loop of the calling thread.
/// The default is all cores; a rank that shares its cores with others should set 1. Without effect on products by a
/// BLAS other than OpenBLAS, and on oneDNN without OpenMP. A process that forks, as `spawn` does over processes, must
/// do so before it computes with several threads: threads do not survive a fork.
inline void set_threads(int threads) {
  expects(threads >= 1, "set_threads: the number of threads must be 1 or more, not ", threads);
  if (openblas_set_num_threads != nullptr) {
    openblas_set_num_threads(threads);
  }
  if (omp_set_num_threads != nullptr) {
    omp_set_num_threads(threads);
  }
}

}  // namespace tutti::nn
