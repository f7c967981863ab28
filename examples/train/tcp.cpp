// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/transport/tcp.hpp>

outcomes train_over_tcp(job const& work) {
  return work.launched ? train_in_launched_world<tutti::tcp>(work) : train_over<tutti::tcp>(work);
}
