// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_synchronous_ring
#include <nn/synchronous_laws.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

BOOST_AUTO_TEST_CASE(every_transport_trains_alike) {
  laws::check_training_on_transports<tutti::ring, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}
