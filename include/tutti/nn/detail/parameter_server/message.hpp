// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The kind of a message from a worker to a server.
enum class message_kind : std::uint32_t {
  push,          ///< pushes the gradients of a piece, which follow; with `answer` requests the new weights, too
  pull,          ///< requests the weights of a range of keys of this server, after all others have reached `need`
  memory,        ///< requests the state of this server's optimizers
  request_task,  ///< requests the next task, from server 0
  send_state,    ///< sends server 0 the whole state of all servers, which follows, while all workers pause
  leave,         ///< ends the worker's messages; its figures follow
};

/// A message of a worker; unused fields of a verb are 0.
struct message {
  message_kind kind = message_kind::leave;
  std::uint32_t answer = 0;
  clock_value clock = 0;  ///< clock of the sender
  clock_value need = 0;
  key_range keys{};
  std::uint64_t samples = 0;  ///< samples of this worker's part of the batch
  std::uint64_t batch = 0;    ///< samples of the whole batch
};

/// The tasks that the scheduler gives to workers: those of algorithm 1 of Li et al., "Scaling distributed machine
/// learning with the parameter server", OSDI 2014, and additional ones for tests and checkpoints.
enum class task_kind : std::uint32_t {
  load_data,   ///< receive a part of the data, pull the working set
  iterate,     ///< compute the gradient of batch `clock`, push it, pull
  hold,        ///< ask again, after the answers to all own pushes have arrived
  send_state,  ///< send server 0 the state of all servers; no worker pushes meanwhile
  test,        ///< compute the metrics of all test images, with the current weights or, if `last`, with the final ones
  stop,        ///< leave
};

struct task {
  task_kind kind = task_kind::stop;
  std::uint32_t last = 0;
  clock_value clock = 0;
  std::uint32_t part = 0;   ///< index of the worker's part of each batch, for all later steps
  std::uint32_t parts = 1;  ///< number of parts of each batch
  std::uint64_t epoch = 0;
};

/// The report of a worker since its last request for a task.
struct report {
  std::uint32_t steps = 0;  ///< 1 if it has computed a step
  std::uint32_t tests = 0;  ///< 1 if it has tested
  clock_value clock = 0;    ///< clock of the step
  std::uint64_t epoch = 0;  ///< epoch of the test
  std::uint64_t samples = 0;
  std::uint64_t batch = 0;
  float loss = 0;     ///< step: sum over the samples, divided by the batch size; test: sum
  float correct = 0;  ///< step: correct answers, divided by the batch size; test: sum
};

}  // namespace tutti::nn::parameter_server::detail
