// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/direct.hpp>

namespace {

using tutti::direct;
namespace op = tutti::op;

static_assert(laws::hold<op::alltoall>(direct{}, 1, 4));
static_assert(laws::hold<op::reduce>(direct{}, 1, 4));
static_assert(laws::hold<op::broadcast>(direct{}, 1, 4));
static_assert(laws::hold<op::gather>(direct{}, 1, 4));
static_assert(laws::hold<op::scatter>(direct{}, 1, 4));

BOOST_AUTO_TEST_CASE(every_root_is_right) {
  laws::check_every_root(direct{}, 5, 20);
}

}  // namespace
