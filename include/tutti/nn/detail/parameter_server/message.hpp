// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The kind of a message from a worker to a server.
enum class verb : std::uint32_t {
  push,    ///< the gradients of a piece follow; with `answer` the new weights are wanted as well
  pull,    ///< the weights of a range of keys of this server are wanted, when all others have reached `need`
  memory,  ///< what the optimizers of this server remember is wanted
  ask,     ///< (server 0) the next task is wanted
  rest,    ///< (server 0) all that the servers hold follows, while all workers rest
  leave,   ///< there will be no more; the worker's figures follow
};

/// A message of a worker; fields that a verb has no use for are 0.
struct message {
  verb what = verb::leave;
  std::uint32_t answer = 0;
  clock_value clock = 0;  ///< the sender's
  clock_value need = 0;
  key_range keys{};
  std::uint64_t samples = 0;  ///< of this worker's part of the batch
  std::uint64_t batch = 0;    ///< of all
};

/// The tasks that the scheduler gives to workers: those of algorithm 1 of Li et al., "Scaling distributed machine
/// learning with the parameter server", OSDI 2014, and one that tests.
enum class task_kind : std::uint32_t {
  load_data,  ///< take a part of the data, pull the working set
  iterate,    ///< compute the gradient of batch `clock`, push it, pull
  hold,       ///< ask again: a worker that does has received answers to all that it pushed
  rest,       ///< send server 0 what all servers hold; no worker pushes meanwhile
  test,       ///< all test images, with the weights that are there or, if it says `last`, those that will stay
  stop,       ///< leave
};

struct task {
  task_kind what = task_kind::stop;
  std::uint32_t last = 0;
  clock_value clock = 0;
  std::uint32_t part = 0;   ///< of each batch, from now on
  std::uint32_t parts = 1;  ///< in how many it is divided
  std::uint64_t epoch = 0;
};

/// What a worker has done since its last request for a task.
struct report {
  std::uint32_t iterated = 0;  ///< it has computed a step
  std::uint32_t tested = 0;    ///< it has tested
  clock_value clock = 0;       ///< which step
  std::uint64_t epoch = 0;     ///< tested
  std::uint64_t samples = 0;
  std::uint64_t batch = 0;
  float loss = 0;     ///< a step's: its samples' sum over the size of the batch; a test's: the sum
  float correct = 0;  ///< likewise
};

}  // namespace tutti::nn::parameter_server::detail
