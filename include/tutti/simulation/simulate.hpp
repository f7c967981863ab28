// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/core/fiber.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/simulation/simulated_transport.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Results and cost of a simulated world.
template <class R>
struct simulated_outcome {
  std::vector<outcome<R>> results;  ///< the value that each rank returned, or its error
  simulated_report report;          ///< traffic and times of the network and the processors
};

namespace detail {

/// Exchanges texts between the ranks of one simulation. Takes no virtual time.
class simulated_meeting {
 public:
  explicit simulated_meeting(simulator& sim) : simulator_(&sim), texts_(sim.ranks()) {}

  [[nodiscard]] rank_type size() const noexcept { return simulator_->ranks(); }

  std::vector<std::string> exchange(rank_type me, std::string_view text) {
    std::uint64_t const round = round_;
    texts_[me] = text;
    if (++arrivals_ == size()) {
      exchanged_texts_ = texts_;
      arrivals_ = 0;
      ++round_;
      wake_all();
      simulator_->wait(me, simulated_processors::never);  // lets all ranks continue in the order of their numbers
    }
    while (round_ == round) {
      if (rank_type const missing = simulator_->processors().is_dead(me) ? me : first_departed_; missing != no_rank) {
        throw error(failure::join, "rank " + std::to_string(missing) + " has ended before it could join")
            .set_ranks(me, {missing});
      }
      simulator_->wait(me, simulated_processors::never);
    }
    return exchanged_texts_;  // the next exchange overwrites it only after every rank has arrived there
  }

  /// Records that rank `me` has ended; exchanges that still need it fail.
  void leave(rank_type me) {
    first_departed_ = first_departed_ == no_rank ? me : first_departed_;
    if (arrivals_ != 0) {
      wake_all();
    }
  }

 private:
  void wake_all() {
    for (rank_type r = 0; r < size(); ++r) {
      simulator_->processors().wake(r);
    }
  }

  simulator* simulator_;
  std::vector<std::string> texts_;
  std::vector<std::string> exchanged_texts_;
  std::uint64_t round_ = 0;
  rank_type arrivals_ = 0;
  rank_type first_departed_ = no_rank;  ///< the first rank that ended
};

/// The rendezvous of one rank of a simulation.
class simulated_rendezvous {
 public:
  simulated_rendezvous(simulated_meeting& meeting, rank_type rank) noexcept : meeting_(&meeting), rank_(rank) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return meeting_->size(); }
  std::vector<std::string> exchange(std::string_view text) { return meeting_->exchange(rank_, text); }

 private:
  simulated_meeting* meeting_;
  rank_type rank_;
};

/// A rank of a simulation; runs `f(simulated_rendezvous&, simulator&)` on a stack of its own.
template <class F>
class simulated_program {
 public:
  using result = std::invoke_result_t<F&, simulated_rendezvous&, simulator&>;

  simulated_program(simulator& sim, simulated_meeting& meeting, rank_type rank, F& f)
      : simulator_(sim),
        meeting_(meeting),
        rank_(rank),
        f_(f),
        outcome_(rank_failure{}),
        body_(
            sim.options().stack_bytes, [](void* p) { static_cast<simulated_program*>(p)->run(); }, this) {}

  [[nodiscard]] fiber& body() noexcept { return body_; }
  [[nodiscard]] outcome<result>& end() noexcept { return outcome_; }
  [[nodiscard]] picoseconds end_time() const noexcept { return end_time_; }

 private:
  void run() {
    try {
      simulated_rendezvous meet(meeting_, rank_);
      if constexpr (std::is_void_v<result>) {
        f_(meet, simulator_);
        outcome_ = outcome<result>(std::in_place);
      } else {
        outcome_ = outcome<result>(std::in_place, f_(meet, simulator_));
      }
    } catch (...) {
      outcome_ = current_failure();
    }
    end_time_ = simulator_.processors().time_of(rank_);
    meeting_.leave(rank_);
  }

  simulator& simulator_;
  simulated_meeting& meeting_;
  rank_type rank_;
  F& f_;
  outcome<result> outcome_;
  picoseconds end_time_{};
  fiber body_;
};

/// Runs `f(simulated_rendezvous&, simulator&)` as n ranks of one thread, in virtual time, until all have ended.
/// @throws precondition_error if network, placement and faults do not fit each other
template <class F>
[[nodiscard]] auto run_simulated(simulated_network const& net, rank_type n, F&& f, simulation_options const& options) {
  using program = simulated_program<std::remove_reference_t<F>>;
  using programs = std::vector<owner<program>>;
  simulator sim(net, n, options, /*carries=*/true);
  simulated_meeting meeting(sim);
  programs ranks;
  sim.set_yield(&ranks, [](void* driver, rank_type r) { (*static_cast<programs*>(driver))[r]->body().suspend(); });
  for (rank_type r = 0; r < n; ++r) {
    ranks.push_back(owner<program>(new program(sim, meeting, r, f)));
    sim.processors().rest(r);
    sim.processors().wake(r);
  }
  for (rank_type left = n; left != 0;) {
    fiber& next = ranks[sim.next()]->body();  // never no_rank: a waiting rank polls periodically
    next.resume();
    left -= next.has_ended() ? 1U : 0U;
  }

  simulated_outcome<typename program::result> world_outcome{{}, sim.report()};
  for (auto const& r : ranks) {
    world_outcome.results.push_back(std::move(r->end()));
    world_outcome.report.end_times.push_back(r->end_time());
  }
  return world_outcome;
}

}  // namespace detail

/// Runs `f(world)` on each of `n` ranks, in virtual time, on the network `net`. Programs, operators, engine and
/// values are those of a real world; the report says when each message moved, and where. Suits up to some thousand
/// ranks; `simulate_schedule` simulates more.
///
///     auto const net = tutti::one_switch(8, {.latency = 1us, .per_byte = tutti::at_gigabits(100)});
///     auto const all = tutti::simulate(net, 8, [](auto& world) {
///       tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
///       std::vector<float> v(1 << 20, 1);
///       sum(v);
///       world.transport().spend(3ms);   // the program computes
///       return v[0];
///     });
///     all.results[0].value();  all.report.time();
///
/// Uses one thread, and takes no real time for what it simulates. Two runs give identical results. A rank runs until
/// it waits, and only then does another one run: data shared by ranks needs no lock. Errors, deadlines and deaths
/// happen in virtual time.
///
/// @pre f waits for real time or for another rank only through `world`
template <tracer Trace = no_trace, class F>
[[nodiscard]] auto simulate(simulated_network const& net, rank_type n, F&& f, simulation_options const& options = {}) {
  return detail::run_simulated(
      net, n,
      [&](detail::simulated_rendezvous& meet, detail::simulator& sim) {
        communicator<simulated_transport, dynamic, Trace> world(
            meet, {.role = {}, .transport = detail::simulated_access::options(sim, meet.rank())});
        return f(world);
      },
      options);
}

}  // namespace tutti
