// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE nn_synchronous_star
#include <nn/synchronous_laws.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

BOOST_AUTO_TEST_CASE(every_transport_trains_alike) {
  laws::check_training_on_transports<tutti::star, tutti::loopback, tutti::shared_memory, tutti::tcp>();
}
