// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/parameter_server/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL scheduler::scheduler(consistency consistency, std::size_t workers, batch_plan const& plan, std::size_t begin)
    : consistency_(consistency),
      plan_(plan),
      steps_(plan.steps()),
      epochs_(plan.epochs()),
      workers_(workers),
      tests_(plan.epochs(), open),
      tested_epochs_(begin),
      iterations_(plan.steps_before(begin) * workers),
      reported_iterations_(iterations_),
      first_sum_(plan.steps_before(begin)),
      epochs_at_pause_(begin) {
  for (auto& worker : workers_) {
    worker.iterations = first_sum_;
  }
  std::fill_n(tests_.begin(), begin, finished_test);
}

TUTTI_DECL void scheduler::take(std::size_t worker, report const& report) {
  if (report.steps != 0) {
    workers_[worker].is_iterating = false;
    std::size_t const step =
        consistency_.is_bounded() ? static_cast<std::size_t>(report.clock) : reported_iterations_++ / count_present();
    if (step >= first_sum_) {
      if (step - first_sum_ >= sums_.size()) {
        sums_.resize(step - first_sum_ + 1);
      }
      step_sum& sum = sums_[step - first_sum_];
      sum.samples += report.samples;
      sum.batch = report.batch;
      sum.loss += double{report.loss};
      sum.correct += double{report.correct};
      ++sum.reports;
    }
  }
  if (report.tests != 0) {
    results_.push_back({static_cast<std::size_t>(report.epoch), report.loss, report.correct});
    tests_[report.epoch] = finished_test;
    while (tested_epochs_ != epochs_ && tests_[tested_epochs_] == finished_test) {
      ++tested_epochs_;
    }
  }
}

TUTTI_DECL std::optional<task> scheduler::next(std::size_t worker) {
  state& asker = workers_[worker];
  if (is_ended_) {
    asker.is_working = false;
    return make_task(worker, task_kind::stop);
  }
  if (!asker.has_data) {
    asker.has_data = true;
    return make_task(worker, task_kind::load_data);
  }
  bool const is_finished =
      consistency_.is_bounded() ? asker.iterations == steps_ : iterations_ >= steps_ * count_present();
  bool const is_alone = count_working() == 1;
  for (std::size_t e = tested_epochs_; e != epochs_ && has_reached(asker, e); ++e) {
    bool const last = e + 1 == epochs_;
    if (tests_[e] == open && (!last || (is_finished && is_alone))) {
      tests_[e] = worker;
      asker.is_waiting = false;  // it may have waited until the testing worker was lost
      task result = make_task(worker, task_kind::test);
      result.epoch = e;
      result.last = last ? 1 : 0;
      return result;
    }
  }
  if (consistency_.pauses_after_epochs && epochs_at_pause_ + 1 < epochs_ && has_reached(asker, epochs_at_pause_)) {
    if (!std::exchange(asker.is_held, true)) {
      return make_task(worker, task_kind::hold);
    }
    asker.is_waiting = true;
    return all_wait() ? send_state(worker) : std::nullopt;
  }
  if (consistency_.pauses_after_epochs && is_finished && is_alone && epochs_at_pause_ < epochs_) {
    return send_state(worker);
  }
  if (is_finished) {
    if (!is_alone && (last_worker_ == open || last_worker_ == worker)) {
      last_worker_ = worker;
      return std::nullopt;
    }
    asker.is_working = false;
    return make_task(worker, task_kind::stop);
  }
  task result = make_task(worker, task_kind::iterate);
  asker.is_iterating = true;
  asker.is_held = asker.is_waiting = false;  // it may have waited until a worker was lost, whose iteration this is
  ++asker.iterations;
  ++iterations_;
  return result;
}

TUTTI_DECL void scheduler::resume() noexcept {
  ++epochs_at_pause_;
  state_sender_ = open;
  for (auto& worker : workers_) {
    worker.is_held = worker.is_waiting = false;
  }
}

TUTTI_DECL void scheduler::drop(std::size_t worker) {
  std::uint64_t const under_way = iterations_ - reported_iterations_ - (workers_[worker].is_iterating ? 1 : 0);
  std::size_t const previous = count_present();
  workers_[worker].is_working = false;
  workers_[worker].is_lost = true;
  if (!consistency_.is_bounded()) {  // steps have fewer iterations from now on; the current step keeps the ones begun
    reported_iterations_ = reported_iterations_ * count_present() / previous;
    iterations_ = reported_iterations_ + under_way;
  }
  state_sender_ = state_sender_ == worker ? open : state_sender_;
  last_worker_ = last_worker_ == worker ? open : last_worker_;
  for (auto& test : tests_) {
    test = test == worker ? open : test;
  }
}

TUTTI_DECL std::size_t scheduler::count_working() const noexcept {
  std::size_t count = 0;
  for (auto const& worker : workers_) {
    count += worker.is_working ? 1U : 0U;
  }
  return count;
}

TUTTI_DECL std::size_t scheduler::count_present() const noexcept {
  std::size_t count = 0;
  for (auto const& worker : workers_) {
    count += worker.is_lost ? 0U : 1U;
  }
  return count;
}

TUTTI_DECL bool scheduler::is_complete(step_sum const& sum) const noexcept {
  std::size_t const workers = count_present();
  return consistency_.is_bounded() ? sum.reports != 0 && sum.reports >= workers
                                   : workers != 0 && reported_iterations_ / workers > first_sum_;
}

TUTTI_DECL bool scheduler::all_wait() const noexcept {
  return std::ranges::all_of(
      workers_, [](state const& worker) { return worker.is_lost || !worker.is_working || worker.is_waiting; });
}

TUTTI_DECL std::optional<task> scheduler::send_state(std::size_t worker) noexcept {
  if (state_sender_ != open) {
    return std::nullopt;
  }
  state_sender_ = worker;
  return make_task(worker, task_kind::send_state);
}

TUTTI_DECL bool scheduler::has_reached(state const& worker, std::size_t epoch) const noexcept {
  std::size_t const steps = plan_.steps_before(epoch + 1);
  return consistency_.is_bounded() ? worker.iterations >= steps : iterations_ >= steps * count_present();
}

TUTTI_DECL task scheduler::make_task(std::size_t worker, task_kind kind) const noexcept {
  task result;
  result.kind = kind;
  result.clock = workers_[worker].iterations;
  result.parts = 0;
  for (std::size_t w = 0; w != workers_.size(); ++w) {
    result.part += !workers_[w].is_lost && w < worker ? 1U : 0U;
    result.parts += !workers_[w].is_lost ? 1U : 0U;
  }
  return result;
}

}  // namespace tutti::nn::parameter_server::detail
