// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/communicator.hpp>
#include <tutti/detail/core/fiber.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/simulation/simulated.hpp>

#include <string>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0 {

/// What became of a simulated world: what each rank returned, or why it failed, and what it cost.
template <class R>
struct simulated_outcome {
  std::vector<outcome<R>> results;  ///< what each rank returned, or why it failed
  simulated_report report;          ///< what the network and the processors did
};

namespace detail {

/// Where the ranks of one simulation meet. It takes no virtual time.
class simulated_meeting {
 public:
  explicit simulated_meeting(simulator& in) : in_(&in), texts_(in.ranks()) {}

  [[nodiscard]] rank_type size() const noexcept { return in_->ranks(); }

  std::vector<std::string> exchange(rank_type me, std::string_view mine) {
    std::uint64_t const round = round_;
    texts_[me] = mine;
    if (++present_ == size()) {
      complete_ = texts_;
      present_ = 0;
      ++round_;
      wake_all();
      in_->wait(me, simulated_processors::never);  // all go on in the order of their ranks
    }
    while (round_ == round) {
      if (rank_type const missing = in_->processors().dead(me) ? me : absent_; missing != no_rank) {
        throw error(failure::join, "rank " + std::to_string(missing) + " has ended before it could join")
            .between(me, {missing});
      }
      in_->wait(me, simulated_processors::never);
    }
    return complete_;  // overwritten only when every rank has come again
  }

  /// Rank `me` has ended and will never come again.
  void leave(rank_type me) {
    absent_ = absent_ == no_rank ? me : absent_;
    if (present_ != 0) {
      wake_all();
    }
  }

 private:
  void wake_all() {
    for (rank_type r = 0; r < size(); ++r) {
      in_->processors().wake(r);
    }
  }

  simulator* in_;
  std::vector<std::string> texts_;
  std::vector<std::string> complete_;
  std::uint64_t round_ = 0;
  rank_type present_ = 0;
  rank_type absent_ = no_rank;  ///< the first that left
};

/// The rendezvous of a rank of a simulation.
class simulated_rendezvous {
 public:
  simulated_rendezvous(simulated_meeting& at, rank_type rank) noexcept : at_(&at), rank_(rank) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return at_->size(); }
  std::vector<std::string> exchange(std::string_view mine) { return at_->exchange(rank_, mine); }

 private:
  simulated_meeting* at_;
  rank_type rank_;
};

/// A rank of a simulation that runs `f(simulated_rendezvous&, simulator&)` on a stack of its own.
template <class F>
class simulated_program {
 public:
  using result = std::invoke_result_t<F&, simulated_rendezvous&, simulator&>;

  simulated_program(simulator& in, simulated_meeting& meeting, rank_type rank, F& f)
      : in_(in),
        meeting_(meeting),
        rank_(rank),
        f_(f),
        end_(rank_failure{}),
        body_(
            in.options().stack_bytes, [](void* p) { static_cast<simulated_program*>(p)->run(); }, this) {}

  [[nodiscard]] fiber& body() noexcept { return body_; }
  [[nodiscard]] outcome<result>& end() noexcept { return end_; }
  [[nodiscard]] picoseconds ended() const noexcept { return ended_; }

 private:
  void run() {
    try {
      simulated_rendezvous meet(meeting_, rank_);
      if constexpr (std::is_void_v<result>) {
        f_(meet, in_);
        end_ = outcome<result>(std::in_place);
      } else {
        end_ = outcome<result>(std::in_place, f_(meet, in_));
      }
    } catch (...) {
      end_ = current_failure();
    }
    ended_ = in_.processors().time_of(rank_);
    meeting_.leave(rank_);
  }

  simulator& in_;
  simulated_meeting& meeting_;
  rank_type rank_;
  F& f_;
  outcome<result> end_;
  picoseconds ended_{};
  fiber body_;
};

/// Runs `f(simulated_rendezvous&, simulator&)` as n ranks of one thread, in virtual time, until all
/// have ended.
/// @throws precondition_error if network, placement or faults do not fit each other
template <class F>
[[nodiscard]] auto run_simulated(simulated_network const& net, rank_type n, F&& f, simulation_options const& options) {
  using program = simulated_program<std::remove_reference_t<F>>;
  using programs = std::vector<owned<program>>;
  simulator in(net, n, options, /*carries=*/true);
  simulated_meeting meeting(in);
  programs ranks;
  in.yields_to(&ranks, [](void* all, rank_type r) { (*static_cast<programs*>(all))[r]->body().suspend(); });
  for (rank_type r = 0; r < n; ++r) {
    ranks.push_back(owned<program>(new program(in, meeting, r, f)));
    in.processors().rest(r);
    in.processors().wake(r);
  }
  for (rank_type left = n; left != 0;) {
    fiber& next = ranks[in.next()]->body();  // there is one: a rank that waits looks now and then
    next.resume();
    left -= next.ended() ? 1U : 0U;
  }

  simulated_outcome<typename program::result> all{{}, in.report()};
  for (auto const& r : ranks) {
    all.results.push_back(std::move(r->end()));
    all.report.ended.push_back(r->ended());
  }
  return all;
}

}  // namespace detail

/// Makes a world of `n` ranks in virtual time, on a network of your choice, and runs `f(world)` on
/// each: the same programs, operators and engine as in any world, with true values, and a report of
/// when and what moved where. For up to some thousand ranks; see simulate_schedule for more.
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
/// One thread, no real time, the same result each time. Programs run one after the other between the
/// moments where they wait, so what they share needs no lock. Errors, deadlines and deaths come in
/// virtual time.
///
/// @pre f does not wait for real time or for another rank by anything but `world`
template <tracer Trace = no_trace, class F>
[[nodiscard]] auto simulate(simulated_network const& net, rank_type n, F&& f, simulation_options const& options = {}) {
  return detail::run_simulated(
      net, n,
      [&](detail::simulated_rendezvous& meet, detail::simulator& in) {
        communicator<simulated, dynamic, Trace> world(
            meet, {.role = {}, .transport = detail::simulated_access::options(in, meet.rank())});
        return f(world);
      },
      options);
}

}  // namespace tutti
