// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/synchronous_laws.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

// Training over these topologies is the same on every transport.

BOOST_AUTO_TEST_CASE(ring) {
  laws::check_training_on_transports<tutti::ring, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(chain) {
  laws::check_training_on_transports<tutti::chain, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(direct) {
  laws::check_training_on_transports<tutti::direct, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(star) {
  laws::check_training_on_transports<tutti::star, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}
