// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

// OpenBLAS declares this in its cblas.h, which cannot be included beside the declarations that
// xtensor-blas brings. Weak, because another BLAS does not have it.
extern "C" [[gnu::weak]] void openblas_set_num_threads(int);
// Of the OpenMP that oneDNN computes with, if it does.
extern "C" [[gnu::weak]] void omp_set_num_threads(int);

namespace tutti::inline v0_1_0::nn {

/// How many threads each matrix product of this process, and each convolution and each loop of the calling thread,
/// may use. A rank that computes beside others on the same cores wants one; all cores are taken otherwise. Products
/// by a BLAS other than OpenBLAS, and what oneDNN computes without OpenMP, do not know of it. A process that forks, as
/// `spawn` does over processes, does so before it computes with several threads: they do not come with the child.
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
