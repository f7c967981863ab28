// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler
#include <nn/synchronous_laws.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

// Training over these topologies is the same on every transport.

BOOST_AUTO_TEST_CASE(binary_tree) {
  laws::check_training_on_transports<tutti::binary_tree, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(butterfly) {
  laws::check_training_on_transports<tutti::butterfly, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(doubling) {
  laws::check_training_on_transports<tutti::doubling, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}
