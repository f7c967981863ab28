// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <infiniband/verbs.h>

namespace tutti::support {

/// Ends a program that needs an RDMA device and has none, with the status of a skipped test. The script that runs such
/// programs in a guest counts that as a failure.
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
