// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <infiniband/verbs.h>

namespace tutti::support {

/// For programs that need an RDMA device: without one they end with the status of a test that was skipped. What runs
/// them in a guest takes that for a failure.
struct rdma_device {
  rdma_device() {
    int count = 0;
    ibv_device** const list = ibv_get_device_list(&count);
    if (list != nullptr) {
      ibv_free_device_list(list);
    }
    if (count == 0) {
      std::puts("SKIP: this host has no RDMA device; the test softroce runs this in a guest that has one");
      std::fflush(stdout);
      std::_Exit(77);
    }
  }
};
BOOST_TEST_GLOBAL_FIXTURE(rdma_device);

}  // namespace tutti::support
