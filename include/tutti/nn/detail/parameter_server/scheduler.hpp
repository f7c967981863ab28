// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Gives each worker its next task: the task scheduler of algorithm 1 of Li et al., OSDI 2014. First LoadData, then
/// WorkerIterate, one iteration for each request, until all is done. It moves no data and waits for no rank; the
/// servers limit the distance between workers.
///
/// With bounded staleness each worker makes all steps. Without a bound the workers share the same total number of
/// iterations, and fast workers make more of them; after a loss a step consists of fewer, larger shares, and another
/// worker makes the lost worker's open iteration. After each epoch one worker tests, at the clock of the first worker
/// there or, unbounded, by the number of iterations given out. The first worker to finish the last epoch waits for
/// all others and makes the last test, because one of them may be lost and never ask again. After a loss, the parts
/// of the batches are divided among the remaining workers.
///
/// If workers pause after each epoch, a worker at its end is held until all are, and until their pushes have been
/// applied everywhere. Then one of them sends server 0 the state of all servers, and all continue.
class scheduler {
 public:
  /// The sum of all workers' reports on a step.
  struct step_sum {
    std::uint64_t samples = 0;
    std::uint64_t batch = 0;
    double loss = 0;  // double, so that the order of reports has no visible effect
    double correct = 0;
    std::size_t reports = 0;
  };
  struct test_result {
    std::size_t epoch = 0;
    float loss = 0;
    float correct = 0;
  };

  /// @param begin first epoch
  scheduler(consistency consistency, std::size_t workers, batch_plan const& plan, std::size_t begin = 0);

  /// Takes the report of a worker since its last request for a task.
  void take(std::size_t worker, report const& report);

  /// The next task of a worker; nothing if it must wait for others.
  [[nodiscard]] std::optional<task> next(std::size_t worker);

  /// Lets all workers continue, after server 0 has received the servers' state.
  void resume() noexcept;
  /// Ends the training at a pause: every worker is told to stop.
  void end() noexcept { is_ended_ = true; }
  /// The number of epochs at the last pause.
  [[nodiscard]] std::size_t epochs_at_pause() const noexcept { return epochs_at_pause_; }

  /// Removes a lost worker; its task is given to another worker.
  void drop(std::size_t worker);

  /// Calls f(step, step_sum) for each step that all workers have reported, in order; steps of an epoch follow the
  /// test of the previous one, as in training without servers.
  template <class F>
  void for_each_step(F f) {
    std::size_t const end = plan_.steps_before(tested_epochs_ + 1);
    for (; first_sum_ < end && !sums_.empty() && is_complete(sums_.front()); ++first_sum_) {
      step_sum const sum = sums_.front();
      sums_.pop_front();
      f(first_sum_, sum);
    }
  }
  /// Calls f(test_result) for each new test result.
  template <class F>
  void for_each_test(F f) {
    for (auto const& result : results_) {
      f(result);
    }
    results_.clear();
  }

  /// The number of workers that have not finished.
  [[nodiscard]] std::size_t count_working() const noexcept;

  /// The number of workers that are not lost.
  [[nodiscard]] std::size_t count_present() const noexcept;

 private:
  static constexpr std::size_t open = SIZE_MAX;
  static constexpr std::size_t finished_test = SIZE_MAX - 1;

  struct state {
    clock_value iterations = 0;  // iterations given to the worker
    bool has_data = false;
    bool is_iterating = false;  // true between an iteration and its report
    bool is_working = true;
    bool is_lost = false;
    bool is_held = false;     // the last task was to ask again
    bool is_waiting = false;  // asked again after being held
  };

  /// True if all workers have reported this step, which must be the first one not passed on yet.
  [[nodiscard]] bool is_complete(step_sum const& sum) const noexcept;

  [[nodiscard]] bool all_wait() const noexcept;
  [[nodiscard]] std::optional<task> send_state(std::size_t worker) noexcept;

  [[nodiscard]] bool has_reached(state const& worker, std::size_t epoch) const noexcept;

  [[nodiscard]] task make_task(std::size_t worker, task_kind kind) const noexcept;

  consistency consistency_;
  batch_plan plan_;
  std::size_t steps_;
  std::size_t epochs_;
  std::vector<state> workers_;
  std::vector<std::size_t> tests_;     // state of each epoch's test: open, finished, or the worker that makes it
  std::size_t tested_epochs_;          // number of epochs tested, without gaps
  std::uint64_t iterations_;           // iterations; in unbounded training, a step has one for each present worker
  std::uint64_t reported_iterations_;  // iterations reported
  std::size_t first_sum_;              // step of the first element of sums_
  std::size_t epochs_at_pause_;        // epochs at the last pause
  bool is_ended_ = false;
  std::size_t state_sender_ = open;  // worker that sends the servers' state
  std::size_t last_worker_ = open;   // worker that stops after all others
  std::deque<step_sum> sums_;
  std::vector<test_result> results_;
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/scheduler.ipp>
#endif
