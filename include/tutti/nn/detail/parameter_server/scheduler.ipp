// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/parameter_server/scheduler.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL scheduler::scheduler(consistency how, std::size_t workers, batch_plan const& plan, std::size_t begin)
    : how_(how),
      plan_(plan),
      steps_(plan.steps()),
      epochs_(plan.epochs()),
      workers_(workers),
      tests_(plan.epochs(), open),
      tested_(begin),
      issued_(plan.steps_before(begin) * workers),
      reported_(issued_),
      first_sum_(plan.steps_before(begin)),
      rested_(begin) {
  for (auto& one : workers_) {
    one.issued = first_sum_;
  }
  std::fill_n(tests_.begin(), begin, finished_test);
}

TUTTI_DECL void scheduler::take(std::size_t worker, report const& done) {
  if (done.iterated != 0) {
    workers_[worker].iterating = false;
    std::size_t const step = how_.bounded() ? static_cast<std::size_t>(done.clock) : reported_++ / present();
    if (step >= first_sum_) {
      if (step - first_sum_ >= sums_.size()) {
        sums_.resize(step - first_sum_ + 1);
      }
      step_sum& sum = sums_[step - first_sum_];
      sum.samples += done.samples;
      sum.batch = done.batch;
      sum.loss += double{done.loss};
      sum.correct += double{done.correct};
      ++sum.reports;
    }
  }
  if (done.tested != 0) {
    results_.push_back({static_cast<std::size_t>(done.epoch), done.loss, done.correct});
    tests_[done.epoch] = finished_test;
    while (tested_ != epochs_ && tests_[tested_] == finished_test) {
      ++tested_;
    }
  }
}

TUTTI_DECL std::optional<task> scheduler::next(std::size_t worker) {
  state& w = workers_[worker];
  if (!w.loaded) {
    w.loaded = true;
    return tell(worker, task_kind::load_data);
  }
  bool const finished = how_.bounded() ? w.issued == steps_ : issued_ >= steps_ * present();
  bool const alone = working() == 1;
  for (std::size_t e = 0; e != epochs_; ++e) {
    bool const last = e + 1 == epochs_;
    if (tests_[e] == open && reached(w, e) && (!last || (finished && alone))) {
      tests_[e] = worker;
      w.waiting = false;  // it may have waited until the testing worker was lost
      task t = tell(worker, task_kind::test);
      t.epoch = e;
      t.last = last ? 1 : 0;
      return t;
    }
  }
  if (how_.rests && rested_ + 1 < epochs_ && reached(w, rested_)) {
    if (!std::exchange(w.held, true)) {
      return tell(worker, task_kind::hold);
    }
    w.waiting = true;
    return all_wait() ? rest(worker) : std::nullopt;
  }
  if (how_.rests && finished && alone && rested_ < epochs_) {
    return rest(worker);
  }
  if (finished) {
    if (!alone && (last_ == open || last_ == worker)) {
      last_ = worker;
      return std::nullopt;
    }
    w.working = false;
    return tell(worker, task_kind::stop);
  }
  task t = tell(worker, task_kind::iterate);
  w.iterating = true;
  w.held = w.waiting = false;  // it may have waited until a worker was lost, whose iteration this is
  ++w.issued;
  ++issued_;
  return t;
}

TUTTI_DECL void scheduler::rested() noexcept {
  ++rested_;
  resting_ = open;
  for (auto& one : workers_) {
    one.held = one.waiting = false;
  }
}

TUTTI_DECL void scheduler::drop(std::size_t worker) {
  std::uint64_t const under_way = issued_ - reported_ - (workers_[worker].iterating ? 1 : 0);
  std::size_t const before = present();
  workers_[worker].working = false;
  workers_[worker].lost = true;
  if (!how_.bounded()) {  // steps have fewer iterations from now on; the current step keeps the ones begun
    reported_ = reported_ * present() / before;
    issued_ = reported_ + under_way;
  }
  resting_ = resting_ == worker ? open : resting_;
  last_ = last_ == worker ? open : last_;
  for (auto& test : tests_) {
    test = test == worker ? open : test;
  }
}

TUTTI_DECL std::size_t scheduler::working() const noexcept {
  std::size_t count = 0;
  for (auto const& one : workers_) {
    count += one.working ? 1U : 0U;
  }
  return count;
}

TUTTI_DECL std::size_t scheduler::present() const noexcept {
  std::size_t count = 0;
  for (auto const& one : workers_) {
    count += one.lost ? 0U : 1U;
  }
  return count;
}

TUTTI_DECL bool scheduler::is_complete(step_sum const& sum) const noexcept {
  std::size_t const of = present();
  return how_.bounded() ? sum.reports != 0 && sum.reports >= of : of != 0 && reported_ / of > first_sum_;
}

TUTTI_DECL bool scheduler::all_wait() const noexcept {
  return std::ranges::all_of(workers_, [](state const& w) { return w.lost || !w.working || w.waiting; });
}

TUTTI_DECL std::optional<task> scheduler::rest(std::size_t worker) noexcept {
  if (resting_ != open) {
    return std::nullopt;
  }
  resting_ = worker;
  return tell(worker, task_kind::rest);
}

TUTTI_DECL bool scheduler::reached(state const& w, std::size_t epoch) const noexcept {
  std::size_t const steps = plan_.steps_before(epoch + 1);
  return how_.bounded() ? w.issued >= steps : issued_ >= steps * present();
}

TUTTI_DECL task scheduler::tell(std::size_t worker, task_kind what) const noexcept {
  task t;
  t.what = what;
  t.clock = workers_[worker].issued;
  t.parts = 0;
  for (std::size_t w = 0; w != workers_.size(); ++w) {
    t.part += !workers_[w].lost && w < worker ? 1U : 0U;
    t.parts += !workers_[w].lost ? 1U : 0U;
  }
  return t;
}

}  // namespace tutti::nn::parameter_server::detail
