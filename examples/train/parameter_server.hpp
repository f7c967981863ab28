// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fault_injection.hpp"
#include "gpu.hpp"
#include "job.hpp"
#include "session.hpp"
#include "stop_signals.hpp"
#include <tutti/error.hpp>
#include <tutti/gather_timelines.hpp>
#include <tutti/nn/checkpoint/server_checkpointer.hpp>
#include <tutti/nn/parameter_server/train.hpp>
#include <tutti/nn/report/gather_usage.hpp>
#include <tutti/nn/simulation/simulated_pace.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The role of each rank with --strategy parameter_server.
inline tutti::nn::parameter_server::roles roles_for(job const& work, tutti::rank_type ranks) {
  auto const& strategy = work.options.strategy;
  if (strategy.servers >= ranks) {
    throw std::runtime_error(std::to_string(ranks) + " ranks, " + std::to_string(strategy.servers) +
                             " of them servers, leave no worker: start more ranks, or ask for fewer --servers");
  }
  return {ranks, strategy.servers};
}

/// Prints, at the end and on server 0, each rank's work and traffic, and the staleness of reads and pushes.
void show(tutti::nn::parameter_server::summary const& sum, tutti::nn::parameter_server::roles const& roles,
          std::vector<std::string> const& names);

/// An observer that keeps checkpoints of servers if the options say so, and reports at once when it cannot. After a
/// signal it ends the training after an epoch.
class server_saving {
 public:
  template <class Communicator>
  server_saving(Communicator& world, session& session, tutti::nn::checkpoint_options options)
      : session_(session), folder_(options.folder.string()) {
    if (!options.folder.empty()) {
      options.stop = stop_request;
      saver_.emplace(world, session.model(), session.history(), session.fingerprint(), options);
      report_notes();
      if (saver_->resumed_position()) {
        session.resume(*saver_->resumed_position(), saver_->changes());
      }
    }
  }

  [[nodiscard]] bool keeps() const noexcept { return saver_.has_value(); }
  void step(tutti::nn::step_result const&, tutti::nn::replica const&) const noexcept { end_world_after_signal(); }
  void epoch(tutti::nn::epoch_result const&) const noexcept {}
  [[nodiscard]] bool on_pause(tutti::nn::replica& model) {
    session_.flush_lines();
    bool const continues = saver_->on_pause(model);
    report_notes();
    if (!saver_->problem().empty()) {
      std::fprintf(stderr, "train: after epoch %zu a checkpoint was left out: %s\n", model.position().epoch,
                   saver_->problem().c_str());
    }
    return continues;
  }

  /// Reports that the training was stopped, if it was.
  /// @throws std::runtime_error if the last checkpoint could not be written
  void finish() const {
    if (!saver_) {
      return;
    }
    auto const& stop = saver_->stop();
    std::string const end = stop ? stop_text(stop->step(), stop->request()) : std::string();
    if (!saver_->problem().empty()) {
      throw std::runtime_error("the training " + (stop ? "was " + end : "is done") +
                               ", but its last checkpoint is not kept: " + saver_->problem());
    }
    if (stop) {
      std::printf("\n%s%s\n", end.c_str(), resume_text(folder_).c_str());
      std::fflush(stdout);
    }
  }

 private:
  void report_notes() {
    auto const notes = saver_->notes();
    for (; reported_notes_ != notes.size(); ++reported_notes_) {
      std::fprintf(stderr, "train: %s\n", notes[reported_notes_].c_str());
    }
  }

  session& session_;
  std::string folder_;
  std::size_t reported_notes_ = 0;
  std::optional<tutti::nn::server_checkpointer> saver_;
};

/// Gathers and shows the trace of servers and workers, unless a rank was lost.
template <class Communicator>
void show_trace(Communicator& world, tutti::nn::parameter_server::roles const& roles, session const& session) {
  std::vector<std::string> parts;
  for (tutti::rank_type r = 0; r != roles.size(); ++r) {
    parts.push_back(roles.name(r));
  }
  try {
    session.show_trace(tutti::gather_timelines(world, tutti::timeline::copy_of(world.trace().second().second())),
                       parts);
  } catch (tutti::error const& e) {
    if (world.rank() == 0) {
      std::fprintf(stderr, "train: there is no trace, as not all ranks are left to send theirs: %s\n", e.what());
    }
  }
}

/// Gathers and keeps the usage of servers and workers, or server 0's alone if a rank was lost.
template <class Communicator>
void keep_usage(Communicator& world, tutti::nn::parameter_server::roles const& roles, session& session) {
  std::vector<tutti::nn::usage> usages;
  try {
    usages = tutti::nn::gather_usage(world, *session.meter());
  } catch (tutti::error const& e) {
    if (world.rank() == 0) {
      std::fprintf(stderr, "train: of what ranks did there is server 0's alone, as not all are left: %s\n", e.what());
      usages = {session.meter()->result()};
      tutti::nn::align(usages);
    }
  }
  for (tutti::rank_type r = 0; r != usages.size(); ++r) {
    usages[r].role = roles.name(r);
  }
  session.keep(std::move(usages));
}

/// Trains as one rank, a server or a worker.
template <class Communicator>
int train_with_servers(Communicator& world, job const& work, std::vector<std::string> names,
                       std::vector<gpu_index> gpu_indices, fault_injection injection) {
  namespace ps = tutti::nn::parameter_server;
  auto const& strategy = work.options.strategy;
  auto const roles = roles_for(work, world.size());
  bool const serves = roles.serves(world.rank());
  session session(work, Communicator::transport_type::name, world.rank(), names, std::move(gpu_indices),
                  serves ? 0 : roles.worker(world.rank()), roles.workers());
  server_saving saver(world, session, session.checkpoints());
  session.count(world.trace().first());
  session.follow(world.trace().second().first());
  auto const sum =
      ps::train(world, roles, session.model(), {strategy.staleness, strategy.server_sends, saver.keeps()},
                ps::regulariser{strategy.l1}, ps::simulated_pace(session.speed().factor), session, saver, injection);
  std::vector<std::optional<rank_traffic>> traffic;
  for (auto const& rank_sum : sum.ranks) {
    traffic.push_back(rank_traffic{static_cast<double>(rank_sum.communication.bytes_sent),
                                   static_cast<double>(rank_sum.communication.bytes_received), rank_sum.busy_seconds,
                                   rank_sum.waiting_seconds});
  }
  for (std::size_t i = 0; i != sum.lost_workers.size(); ++i) {
    traffic[roles.rank_of_worker(sum.lost_workers[i].worker)].reset();
    session.fault(sum.lost_workers[i].seconds, world.size() - i, world.size() - i - 1);
  }
  if (session.meter() != nullptr) {
    keep_usage(world, roles, session);
  }
  session.finish(std::move(traffic));
  if (world.rank() == 0) {
    show(sum, roles, names);
  }
  if (!work.options.trace.empty()) {
    show_trace(world, roles, session);
  }
  saver.finish();
  return 0;
}
