// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/operators.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

namespace laws {

/// Every topology of tutti that needs no in-network aggregators. A new topology joins the tests of the operators here.
using all_topologies = topologies<tutti::ring, tutti::chain, tutti::binary_tree, tutti::double_tree, tutti::doubling,
                                  tutti::butterfly, tutti::star, tutti::direct>;

/// Every topology of tutti, for transports that have in-network aggregators.
using topologies_with_aggregators = all_topologies::append<tutti::in_network>;

}  // namespace laws
