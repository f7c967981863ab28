// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/ring.hpp>

namespace {

using tutti::ring;
namespace op = tutti::op;

static_assert(laws::hold<op::reduce>(ring{}, 1, 4));
static_assert(laws::hold<op::broadcast>(ring{}, 1, 4));

BOOST_AUTO_TEST_CASE(every_root_is_right) {
  laws::check_every_root(ring{}, 5, 24);
}

}  // namespace
