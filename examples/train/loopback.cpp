// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"
#include <tutti/transport/loopback.hpp>

outcomes train_over_loopback(job const& work) {
  return train_over<tutti::loopback>(work);
}
