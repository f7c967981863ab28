// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/agreement.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/extend/error.hpp>

#include <algorithm>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL rank_failure left_out(rank_type rank) {
  return {"the others continued without rank " + std::to_string(rank) +
              ", which came too late to agree with them; end this process, or join another job",
          failure::join,
          {rank}};
}

TUTTI_DECL agreement::agreement(std::string world, rank_type rank, rank_type size)
    : world_(std::move(world)), rank_(rank) {
  for (rank_type r = 0; r < size; ++r) {
    result_.members.push_back(r);
  }
}

TUTTI_DECL void agreement::begin(detector_call call, std::uint64_t contribution) {
  call_ = call;
  contribution_ = contribution;
  peers_.clear();
  phase_ = phase::idle;
  ballot_ = {};
  proposal_ = {};
}

TUTTI_DECL shrink_message agreement::message(step kind) const {
  return {world_, rank_, kind, round(), ballot_, call_, contribution_, result_};
}

TUTTI_DECL bool agreement::is_plausible(proposal const& p) const noexcept {
  return !p.members.empty() &&
         std::includes(result_.members.begin(), result_.members.end(), p.members.begin(), p.members.end());
}

// Functions of a guest.

TUTTI_DECL shrink_message agreement::hello() const {
  shrink_message m = message(step::hello);
  m.number = promise_;
  return m;
}

TUTTI_DECL std::optional<shrink_message> agreement::answer(shrink_message const& request) {
  bool const is_proposal = request.kind == step::proposal && is_plausible(request.content);
  if (request.world != world_ || request.round != round() || request.number < promise_ ||
      (!is_proposal && request.kind != step::query)) {
    return std::nullopt;
  }
  promise_ = request.number;
  shrink_message m = message(is_proposal ? step::accept : step::promise);
  m.number = promise_;
  if (is_proposal) {
    last_proposal_ = request.content;
    last_proposal_.round = round();
    last_proposal_.number = promise_;
  }
  m.content = last_proposal_;
  return m;
}

TUTTI_DECL bool agreement::learn(shrink_message const& verdict) {
  proposal const& decision = verdict.content;
  if (verdict.kind != step::verdict || verdict.world != world_ || decision.round != round() ||
      !is_plausible(decision) || !decision.counts(rank_)) {
    return false;
  }
  conclude(decision);
  return true;
}

TUTTI_DECL void agreement::conclude(proposal decision) {
  result_ = std::move(decision);
  promise_ = {};
  last_proposal_ = {};
  notified_ranks_.clear();
  phase_ = phase::idle;
  if (!result_.counts(rank_)) {
    leave_out(result_.members);
  }
}

TUTTI_DECL void agreement::leave_out(std::vector<rank_type> rivals) {
  is_left_out_ = true;
  rival_group_ = std::move(rivals);
}

// Functions of a host.

TUTTI_DECL void agreement::host(std::vector<rank_type> const& silent, std::vector<rank_type> const& absent) {
  auto const is_in = [](std::vector<rank_type> const& list, rank_type r) {
    return std::find(list.begin(), list.end(), r) != list.end();
  };
  peers_.clear();
  for (rank_type const r : members()) {
    if (r != rank_) {
      peers_.push_back({r, is_in(absent, r)   ? presence::absent
                           : is_in(silent, r) ? presence::silent
                                              : presence::awaited});
    }
  }
  phase_ = phase::gather;
  must_ask_ = false;
}

TUTTI_DECL agreement::action agreement::next() {
  if (is_left_out_) {
    return action::fail;
  }
  if (proposal_.round == round() && phase_ == phase::idle) {
    conclude(proposal_);
    return action::decide;
  }
  if (std::exchange(must_ask_, false)) {
    return action::ask;
  }
  if (is_waiting()) {
    return action::wait;
  }
  if (odd_guest() != nullptr || !has_quorum()) {
    return action::fail;
  }
  if (phase_ == phase::gather) {
    ballot highest = promise_;
    for (peer const& p : peers_) {
      highest = highest < p.hello.number ? p.hello.number : highest;
    }
    ballot_ = {highest.count + 1, rank_};
    ask(phase::query);
    return next();
  }
  if (!ranks_to_notify().empty()) {
    return action::leave_notices;
  }
  if (!has_looked_) {
    return action::look;
  }
  if (phase_ == phase::query) {
    choose();
    ask(phase::propose);
  } else {
    phase_ = phase::idle;
  }
  return next();
}

TUTTI_DECL void agreement::ask(phase next_phase) noexcept {
  phase_ = next_phase;
  promise_ = ballot_;
  must_ask_ = true;
  has_looked_ = false;
  for (peer& p : peers_) {
    p.has_answered = false;
  }
}

TUTTI_DECL void agreement::choose() {
  proposal const* last = &last_proposal_;
  std::uint64_t value = contribution_;
  for (peer const& p : peers_) {
    if (p.state == presence::present) {
      last = last->number < p.last_proposal.number ? &p.last_proposal : last;
      value &= p.hello.value;
    }
  }
  proposal_ = last->number.count != 0 ? *last : proposal{0, {}, call_, value, group()};
  proposal_.round = round();
  proposal_.number = ballot_;
  last_proposal_ = proposal_;
}

TUTTI_DECL agreement::reception agreement::receive(shrink_message const& hello) {
  if (hello.kind != step::hello || hello.world != world_ || is_left_out_) {
    return reception::refused;
  }
  if (!result_.counts(hello.rank)) {
    return reception::left_out;
  }
  if (hello.round > round()) {
    if (!hello.content.counts(rank_)) {
      leave_out(hello.content.members);
    } else if (hello.content.round == round() && is_plausible(hello.content) && phase_ != phase::idle) {
      proposal_ = hello.content;
      phase_ = phase::idle;
    }
    return reception::refused;
  }
  if (hello.round + 1 == round()) {
    return reception::late;
  }
  peer* const guest = hello.round == round() ? find(hello.rank) : nullptr;
  if (guest == nullptr || phase_ == phase::idle || guest->state == presence::silent ||
      guest->state == presence::absent) {
    return reception::refused;
  }
  guest->state = presence::present;
  guest->hello = hello;
  if (phase_ != phase::gather && ballot_ < hello.number) {
    ballot_ = {hello.number.count + 1, rank_};
    ask(phase::query);
  }
  return reception::welcome;
}

TUTTI_DECL bool agreement::is_asked(rank_type guest) const noexcept {
  return (phase_ == phase::query || phase_ == phase::propose) && !must_ask_ &&
         std::any_of(peers_.begin(), peers_.end(),
                     [guest](peer const& p) { return p.rank == guest && !p.has_answered; });
}

TUTTI_DECL void agreement::note_answer(shrink_message const& answer) {
  peer* const guest = find(answer.rank);
  bool const is_expected = answer.kind == (phase_ == phase::query ? step::promise : step::accept);
  if (guest == nullptr || guest->state != presence::present || must_ask_ || !is_expected || answer.world != world_ ||
      answer.round != round() || !(answer.number == ballot_)) {
    return;
  }
  guest->has_answered = true;
  if (phase_ == phase::query) {
    guest->last_proposal = is_plausible(answer.content) ? answer.content : proposal{};
  }
}

TUTTI_DECL void agreement::note_departure(rank_type guest) noexcept {
  peer* const p = find(guest);
  if (p != nullptr && phase_ == phase::gather && p->state == presence::present) {
    p->state = presence::awaited;
  }
}

TUTTI_DECL void agreement::note_end(rank_type member) noexcept {
  if (peer* const p = find(member)) {
    p->state = presence::absent;
  }
}

TUTTI_DECL bool agreement::watches(rank_type member) const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [member](peer const& p) {
    return p.rank == member && (p.state == presence::awaited || p.state == presence::present);
  });
}

TUTTI_DECL void agreement::expire() noexcept {
  for (peer& p : peers_) {
    if (p.state == presence::awaited || (p.state == presence::present && phase_ != phase::gather && !p.has_answered)) {
      p.state = presence::silent;
    }
  }
}

TUTTI_DECL shrink_message agreement::request() const {
  shrink_message m = message(phase_ == phase::query ? step::query : step::proposal);
  m.content = proposal_;
  return m;
}

TUTTI_DECL std::vector<rank_type> agreement::ranks_to_notify() const {
  std::vector<rank_type> silent = ranks_in(presence::silent);
  std::erase_if(silent, [this](rank_type r) {
    return std::find(notified_ranks_.begin(), notified_ranks_.end(), r) != notified_ranks_.end();
  });
  return silent;
}

TUTTI_DECL shrink_message agreement::notice() const {
  shrink_message m = message(step::notice);
  m.content.members = group();
  return m;
}

TUTTI_DECL void agreement::note_notices() {
  std::vector<rank_type> const ranks = ranks_to_notify();
  notified_ranks_.insert(notified_ranks_.end(), ranks.begin(), ranks.end());
}

TUTTI_DECL bool agreement::read_notice(shrink_message const& message) {
  bool const is_notice = message.kind == step::notice && message.world == world_ && !message.content.counts(rank_);
  if (is_notice) {
    leave_out(message.content.members);
  }
  return is_notice;
}

TUTTI_DECL std::optional<rank_failure> agreement::cause_for(rank_type member, duration patience) const {
  if (is_left_out_) {
    bool const is_in = std::find(rival_group_.begin(), rival_group_.end(), member) != rival_group_.end();
    return is_in ? std::nullopt : std::optional(left_out(member));
  }
  if (peer const* const guest = odd_guest()) {
    return rank_failure{"the ranks call different functions of their failure_detectors: in agreement #" +
                            std::to_string(round()) + " rank " + std::to_string(rank_) + " called " + name_of(call_) +
                            ", and rank " + std::to_string(guest->rank) + " called " + name_of(guest->hello.call) +
                            "; let all survivors call the same functions in the same order",
                        failure::mismatch,
                        {(std::min)(rank_, guest->rank), (std::max)(rank_, guest->rank)}};
  }
  std::vector<rank_type> const silent = ranks_to_notify();
  return rank_failure{std::string(name_of(call_)) + " failed: " + list_ranks(silent) + " did not come within " +
                          seconds_text(patience) + ", but may be alive and have continued without " +
                          list_ranks(group()) +
                          "; give the failure_detector a patience longer than the time between two operations",
                      failure::join, silent};
}

TUTTI_DECL agreement::peer* agreement::find(rank_type rank) noexcept {
  auto const position = std::find_if(peers_.begin(), peers_.end(), [rank](peer const& p) { return p.rank == rank; });
  return position == peers_.end() ? nullptr : &*position;
}

TUTTI_DECL std::vector<rank_type> agreement::ranks_in(presence state) const {
  std::vector<rank_type> ranks;
  for (peer const& p : peers_) {
    if (p.state == state) {
      ranks.push_back(p.rank);
    }
  }
  return ranks;
}

TUTTI_DECL std::vector<rank_type> agreement::group() const {
  std::vector<rank_type> ranks = ranks_in(presence::present);
  ranks.insert(std::upper_bound(ranks.begin(), ranks.end(), rank_), rank_);
  return ranks;
}

TUTTI_DECL bool agreement::is_waiting() const noexcept {
  return std::any_of(peers_.begin(), peers_.end(), [this](peer const& p) {
    return p.state == presence::awaited || (p.state == presence::present && phase_ != phase::gather && !p.has_answered);
  });
}

TUTTI_DECL bool agreement::has_quorum() const {
  std::vector<rank_type> const silent = ranks_to_notify();
  std::vector<rank_type> const present = group();
  return present.size() > silent.size() || (present.size() == silent.size() && present.front() < silent.front());
}

TUTTI_DECL agreement::peer const* agreement::odd_guest() const noexcept {
  auto const position = std::find_if(peers_.begin(), peers_.end(), [this](peer const& p) {
    return phase_ == phase::gather && p.state == presence::present && p.hello.call != call_;
  });
  return position == peers_.end() ? nullptr : &*position;
}

}  // namespace tutti::detail::bootstrap
