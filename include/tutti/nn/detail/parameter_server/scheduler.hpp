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
/// WorkerIterate for as long as there is something to do, one iteration at a time to each worker that asks. It moves no
/// data and waits for no rank: that no worker runs too far ahead is a matter of the servers.
///
/// With a bound on staleness each worker makes all steps. Without, the workers make as many in all, the fast
/// ones more of them: fewer and larger ones once a worker is lost, whose open one another makes. After each epoch, by
/// the clock of the first worker to get there or, unbounded, by the number of iterations given out, one worker tests;
/// after the last one, the worker that ends first, which waits for the others: one of them may be lost and never ask
/// again. When a worker is lost, the parts of the batches are divided anew among the others.
///
/// If workers rest after each epoch, a worker that comes to its end is held until all have, and until what they have
/// pushed is everywhere; one of them then sends server 0 what all servers hold, and they go on.
class scheduler {
 public:
  /// A step of all workers: what they reported, added up.
  struct step_sum {
    std::uint64_t samples = 0;
    std::uint64_t batch = 0;
    double loss = 0;  // so that the order in which workers report does not show
    double correct = 0;
    std::size_t reports = 0;
  };
  struct test_result {
    std::size_t epoch = 0;
    float loss = 0;
    float correct = 0;
  };

  /// @param begin the epoch to begin with
  scheduler(consistency how, std::size_t workers, batch_plan const& plan, std::size_t begin = 0);

  /// What a worker has done since its last request for a task.
  void take(std::size_t worker, report const& done);

  /// The next task of a worker; nothing while it has to wait for the others.
  [[nodiscard]] std::optional<task> next(std::size_t worker);

  /// Server 0 has what servers hold: all may go on.
  void rested() noexcept;
  /// After how many epochs that was.
  [[nodiscard]] std::size_t epochs_rested() const noexcept { return rested_; }

  /// Its task is given to another worker.
  void drop(std::size_t worker);

  /// Calls f(step, step_sum) for each step that all have reported, in their order; those of an epoch after the test of
  /// the one before, as in training without servers.
  template <class F>
  void for_each_step(F f) {
    std::size_t const end = plan_.steps_before(tested_ + 1);
    for (; first_sum_ < end && !sums_.empty() && is_complete(sums_.front()); ++first_sum_) {
      step_sum const one = sums_.front();
      sums_.pop_front();
      f(first_sum_, one);
    }
  }
  /// Calls f(test_result) for each test whose result has come.
  template <class F>
  void for_each_test(F f) {
    for (auto const& one : results_) {
      f(one);
    }
    results_.clear();
  }

  /// Workers that have more to do.
  [[nodiscard]] std::size_t working() const noexcept;

  /// Workers that are not lost.
  [[nodiscard]] std::size_t present() const noexcept;

 private:
  static constexpr std::size_t open = SIZE_MAX;
  static constexpr std::size_t finished_test = SIZE_MAX - 1;

  struct state {
    clock_value issued = 0;  // iterations
    bool loaded = false;
    bool iterating = false;  // and has not reported
    bool working = true;
    bool lost = false;
    bool held = false;     // its task was to ask again
    bool waiting = false;  // and has
  };

  /// Of the first step that is not told yet.
  [[nodiscard]] bool is_complete(step_sum const& sum) const noexcept;

  [[nodiscard]] bool all_wait() const noexcept;
  [[nodiscard]] std::optional<task> rest(std::size_t worker) noexcept;

  [[nodiscard]] bool reached(state const& w, std::size_t epoch) const noexcept;

  [[nodiscard]] task tell(std::size_t worker, task_kind what) const noexcept;

  consistency how_;
  batch_plan plan_;
  std::size_t steps_;
  std::size_t epochs_;
  std::vector<state> workers_;
  std::vector<std::size_t> tests_;  // of each epoch: open, done, or the worker that makes it
  std::size_t tested_;              // epochs, without gaps
  std::uint64_t issued_;            // iterations, of which, unbounded, as many make a step as workers are present
  std::uint64_t reported_;          // likewise
  std::size_t first_sum_;           // the step that sums_ begins with
  std::size_t rested_;              // epochs
  std::size_t resting_ = open;      // the worker that sends what servers hold
  std::size_t last_ = open;         // the one that stops after all others
  std::deque<step_sum> sums_;
  std::vector<test_result> results_;
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/scheduler.ipp>
#endif
