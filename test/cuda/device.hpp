// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/forked_child.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cuda_runtime_api.h>

/// Whether there is a GPU for a test; else it says that it is skipped.
[[nodiscard]] inline bool has_device() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count != 0) {
    return true;
  }
  std::puts("SKIPPED: no CUDA device");
  return false;
}
/// The same, asked by another process: one that has used CUDA cannot fork ranks that use it.
[[nodiscard]] inline bool has_device_for_processes() {
  return !ends_in_a_forked_child([] {
    if (has_device()) {
      throw 0;  // it ends without one where there is none
    }
    std::fflush(stdout);
  });
}

/// Of a suite of tests: it is run if there is one.
template <bool (*Has)()>
struct with_a_device {
  [[nodiscard]] boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const { return Has(); }
};
