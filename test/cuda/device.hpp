// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/forked_child.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cuda_runtime_api.h>

/// True if there is a GPU for a test; otherwise prints that the test is skipped.
[[nodiscard]] inline bool has_device() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count != 0) {
    return true;
  }
  std::puts("SKIPPED: no CUDA device");
  return false;
}
/// Like `has_device`, but asks in a child process: a process that has used CUDA cannot fork ranks that use it.
[[nodiscard]] inline bool has_device_for_processes() {
  return !ends_in_a_forked_child([] {
    if (has_device()) {
      throw 0;  // a child that does not throw ends normally: no GPU
    }
    std::fflush(stdout);
  });
}

/// Precondition of a test suite: runs it only if there is a GPU.
template <bool (*Has)()>
struct with_a_device {
  [[nodiscard]] boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const { return Has(); }
};
