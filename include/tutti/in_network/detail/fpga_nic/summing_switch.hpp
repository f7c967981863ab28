// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/counters.hpp>
#include <tutti/in_network/detail/fpga_nic/job.hpp>
#include <tutti/in_network/detail/fpga_nic/sender_proof.hpp>
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>
#include <tutti/in_network/detail/fpga_nic/switch_limits.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The device in software: jobs, their members and slots. Packets in, packets out, at the time that it is given. It
/// does no I/O, and allocates only for a new job, or for weights of more keys than before.
///
/// Answers go to a callable, `emitter(to, header, payload)`; the payload is valid during the call.
template <class Address>
class summing_switch {
 public:
  explicit summing_switch(switch_limits const& limits = {}, udp::seal const& packet_seal = {})
      : limits_(limits), seal_(packet_seal) {
    jobs_.reserve(limits.jobs);
    if (!limits.racks.empty() && limits.racks.members() < limits.members) {
      limits_.members = static_cast<unsigned>(limits.racks.members());
    }
  }

  [[nodiscard]] counters const& counts() const noexcept { return counters_; }
  [[nodiscard]] std::vector<job<Address>> const& jobs() const noexcept { return jobs_; }

  /// Handles a packet; `has_ecn_mark`: a router marked congestion.
  template <class Emit>
  void take(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now,
            Emit&& emitter) {
    ++counters_.packets;
    counters_.congestion_marks += has_ecn_mark ? 1 : 0;
    packet p;
    switch (seal_.read(bytes, p)) {
      case reading::good:
        break;
      case reading::malformed_packet:
        ++counters_.malformed_packets;
        return;
      case reading::invalid_tag:
        ++counters_.invalid_tags;
        return;
    }
    header const& h = p.head;
    if (h.has(flag::of_racks)) {  // rack_switch handles these
      ++counters_.malformed_packets;
      return;
    }
    switch (h.kind) {
      case kind::join:
        return join(source, p, now, emitter);
      case kind::grant:
      case kind::result:
      case kind::missing:
      case kind::refuse:
      case kind::share:
      case kind::progress:
      case kind::ask:
        ++counters_.malformed_packets;
        return;
      default:
        break;
    }
    job<Address>* const served_job = find(h.job);
    std::uint8_t const member_number = served_job == nullptr ? max_workers : served_job->find(source, h.worker);
    if (member_number == max_workers) {
      return refuse_unknown(source, h, refusal::unknown, now, emitter);
    }
    auto& sender = (*served_job)[member_number];
    sender.lease_end = now + sender.lease;
    sender.has_ecn_mark = sender.has_ecn_mark || has_ecn_mark;
    if (h.workers > served_job->size() && (h.kind == kind::contribute || h.kind == kind::supply)) {
      return refuse_member(*served_job, member_number, h, refusal::unsupported_operation, {h.worker, h.workers},
                           emitter);
    }
    if (h.has(flag::weights)) {
      return h.kind == kind::supply ? store(served_job, member_number, p, now, emitter)
                                    : answer_weights(*served_job, member_number, h, emitter);
    }
    switch (h.kind) {
      case kind::contribute:
        return answer(*served_job, member_number, h, served_job->slot_table().contribute(member_number, h, p.payload),
                      emitter);
      case kind::supply:
        return answer(*served_job, member_number, h, served_job->slot_table().supply(member_number, h, p.payload),
                      emitter);
      case kind::query:
        return answer_query(*served_job, member_number, h, emitter);
      case kind::leave:
        ++counters_.leaves;
        sender = {};
        return end_if(served_job, served_job->first_member() == max_workers);
      default:  // kind::end
        if (member_number != 0) {
          return refuse_member(*served_job, member_number, h, refusal::mismatch, {0, served_job->size()}, emitter);
        }
        ++counters_.ends;
        return end_if(served_job, true);
    }
  }

  /// Gives a job a block of weights, as a member does by `supply`.
  void store(std::uint32_t nonce, std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) {
    if (job<Address>* served_job = find(nonce); served_job != nullptr && make_room(served_job, k, {})) {
      (void)served_job->slot_table().store({.sequence = k, .fingerprint = version}, weights);
    }
  }

  /// Frees jobs whose leases have all expired. Also done when a job begins.
  void free_abandoned(time_point now) {
    std::erase_if(jobs_, [&](job<Address> const& served_job) { return served_job.is_abandoned(now); });
  }

  // --- interface for rack_switch

  [[nodiscard]] job<Address>* find(std::uint32_t nonce) noexcept {
    for (job<Address>& served_job : jobs_) {
      if (served_job.nonce() == nonce) {
        return &served_job;
      }
    }
    return nullptr;
  }
  void end(std::uint32_t nonce) { end_if(find(nonce), true); }
  void count_malformed() noexcept {
    ++counters_.packets;
    ++counters_.malformed_packets;
  }
  /// Refuses a member's packet as unsupported.
  template <class Emit>
  void refuse_unsupported(job<Address>& served_job, std::uint8_t member_number, header const& h, Emit& emitter) {
    ++counters_.packets;
    refuse_member(served_job, member_number, h, refusal::unsupported_operation, {h.worker, h.workers}, emitter);
  }
  template <class Emit>
  void send_to(job<Address>& served_job, std::uint8_t member_number, header const& h,
               std::span<std::byte const> payload, Emit& emitter) {
    emit_to(served_job[member_number], h, payload, emitter);
  }
  /// Sends the result of a version to all contributors. @pre the version is complete
  template <class Emit>
  void give_results(job<Address>& served_job, header const& h, Emit& emitter) {
    aggregate const& a = served_job.slot_table().at(h);
    if (a.workers > 1) {
      served_job.serve();
    }
    a.contributors.for_each([&](std::uint8_t w) {
      if (served_job[a.member[w]].is_present) {
        emit_result(served_job, a.member[w], h, w, a.wants_no_data.has(w), emitter);
      }
    });
  }

 private:
  /// The worker that a mismatch is with, and the number of workers.
  struct mismatch_with {
    std::uint8_t worker;
    std::uint8_t workers;
  };

  void end_if(job<Address>* served_job, bool is_over) {
    if (is_over) {
      jobs_.erase(jobs_.begin() + (served_job - jobs_.data()));
    }
  }

  template <class Emit>
  void join(Address const& source, packet const& p, time_point now, Emit& emitter) {
    header const& h = p.head;
    terms const requested_terms = read_terms(p.payload);
    bool const in_rank_order = h.has(flag::in_rank_order);
    job<Address>* served_job = find(h.job);
    if (served_job == nullptr && limits_.guard && h.fingerprint != proof_of(*limits_.guard, source, h.job)) {
      return ask_for_proof(source, h, now, emitter);
    }
    if (served_job == nullptr) {
      served_job = begin(source, h, requested_terms.slot_count, now);
      if (served_job == nullptr) {
        return refuse_unknown(source, h, refusal::no_slots, now, emitter);
      }
    }
    if (served_job->size() != h.workers || served_job->in_rank_order() != in_rank_order) {
      return refuse_unknown(source, with_worker(h, {served_job->first_member(), served_job->size()}), refusal::mismatch,
                            now, emitter);
    }
    std::uint8_t const current_number = served_job->find(source, h.worker);
    bool const is_other =
        current_number != max_workers && current_number != h.worker && now < (*served_job)[current_number].lease_end;
    auto& member = (*served_job)[h.worker];
    bool const is_taken = member.is_present && !(member.at == source) && now < member.lease_end;
    if (is_other || is_taken) {
      return refuse_unknown(source, with_worker(h, {is_other ? current_number : h.worker, served_job->size()}),
                            refusal::mismatch, now, emitter);
    }
    if (current_number != max_workers && current_number != h.worker) {
      (*served_job)[current_number] = {};
    }
    duration const lease = std::chrono::milliseconds(requested_terms.lease_ms);
    member.at = source;
    member.is_present = true;
    member.lease = lease < limits_.lease ? lease : limits_.lease;
    member.lease_end = now + member.lease;
    ++counters_.joins;

    terms const granted_terms{static_cast<std::uint32_t>(member.lease / std::chrono::milliseconds(1)),
                              served_job->slot_table().size()};
    std::array<std::byte, terms::bytes> payload;
    write(granted_terms, payload.data());
    header reply = h;
    reply.kind = kind::grant;
    emit_to(member, reply, payload, emitter);
  }

  /// Begins a job, if there is memory for it with at least one slot; otherwise null.
  [[nodiscard]] job<Address>* begin(Address const& source, header const& h, std::uint16_t requested_slots,
                                    time_point now) {
    free_abandoned(now);
    if (h.workers > limits_.members) {
      return nullptr;
    }
    bool const in_rank_order = h.has(flag::in_rank_order);
    std::uint16_t const limit = in_rank_order ? limits_.slots_in_order : limits_.slot_count;
    std::uint16_t const slot_limit = requested_slots < limit ? requested_slots : limit;
    evict_for(source, h.job, job<Address>::bytes(slot_limit, in_rank_order, limits_.racks), 1, now);
    if (jobs_.size() == limits_.jobs) {
      return nullptr;
    }
    std::size_t const affordable = memory_left() / job<Address>::bytes(1, in_rank_order, limits_.racks);
    auto const granted_slots = static_cast<std::uint16_t>(slot_limit < affordable ? slot_limit : affordable);
    if (granted_slots == 0) {
      return nullptr;
    }
    return &jobs_.emplace_back(h.job, h.workers, in_rank_order, granted_slots, limits_.awaits_weights, limits_.racks,
                               source, now);
  }

  /// Evicts other jobs, as far as a guard allows, until there are `bytes` for the sender's job, and room for
  /// `new_jobs` more jobs.
  void evict_for(Address const& source, std::uint32_t nonce, std::size_t bytes, std::size_t new_jobs, time_point now) {
    while (limits_.guard && bytes <= limits_.memory &&
           (memory_left() < bytes || jobs_.size() + new_jobs > limits_.jobs)) {
      std::size_t const victim = find_victim(source, nonce, now);
      if (victim == jobs_.size()) {
        return;
      }
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
  /// The job to evict for a job of this sender, or `jobs_.size()` if there is none. Claims go first, except a
  /// host's only one if it takes at most a quarter of the memory and is less than a second old. Then go jobs of a host
  /// that has begun at least two more than the sender's. Among equals, the oldest job of the host with the most jobs
  /// goes. Members of an evicted job join again.
  [[nodiscard]] std::size_t find_victim(Address const& source, std::uint32_t nonce, time_point now) const {
    auto const begun_by_host_of = [&](Address const& a, bool only_claims) {
      return std::count_if(jobs_.begin(), jobs_.end(), [&](job<Address> const& served_job) {
        return (served_job.is_claim() || !only_claims) && are_on_one_host(served_job.begun_by(), a);
      });
    };
    auto const jobs_of_sender = begun_by_host_of(source, false);
    std::size_t victim = jobs_.size();
    std::pair<bool, std::ptrdiff_t> highest_rank{};
    for (std::size_t i = 0; i != jobs_.size(); ++i) {
      job<Address> const& served_job = jobs_[i];
      std::pair<bool, std::ptrdiff_t> const rank{served_job.is_claim(),
                                                 begun_by_host_of(served_job.begun_by(), served_job.is_claim())};
      bool const is_fresh = rank.second == 1 && bytes_of(served_job) <= limits_.memory / 4 &&
                            now - served_job.start() < std::chrono::seconds(1);
      bool const may_end = rank.first ? !is_fresh : rank.second > jobs_of_sender + 1;
      if (served_job.nonce() != nonce && may_end && rank > highest_rank) {
        victim = i;
        highest_rank = rank;
      }
    }
    return victim;
  }
  [[nodiscard]] std::size_t bytes_of(job<Address> const& served_job) const noexcept {
    return job<Address>::bytes(served_job.slot_table().size(), served_job.in_rank_order(), limits_.racks) +
           served_job.slot_table().weights().bytes();
  }
  [[nodiscard]] std::size_t memory_left() const noexcept {
    std::size_t left = limits_.memory;
    for (job<Address> const& served_job : jobs_) {
      left -= bytes_of(served_job);
    }
    return left;
  }

  /// Makes room for the weights of a key, and for as many keys again. False if there is no memory.
  /// @param j changes if other jobs are evicted
  bool make_room(job<Address>*& j, std::uint32_t k, time_point now) {
    std::size_t const room_before = j->slot_table().weights().room();
    if (k < room_before) {
      return true;
    }
    if (k >= limits_.keys) {
      return false;
    }
    std::uint32_t const nonce = j->nonce();
    evict_for(Address(j->begun_by()), nonce, (k - room_before + 1) * device_weights::bytes_per_block, 0, now);
    j = find(nonce);
    std::size_t const affordable = memory_left() / device_weights::bytes_per_block;
    if (k - room_before >= affordable) {
      return false;
    }
    std::size_t const max_extra = limits_.keys - room_before < affordable ? limits_.keys - room_before : affordable;
    std::size_t const more = k - room_before + 1 > room_before ? k - room_before + 1 : room_before;
    j->slot_table().make_room(room_before + (more < max_extra ? more : max_extra));
    return true;
  }
  template <class Emit>
  void store(job<Address>* served_job, std::uint8_t member_number, packet const& p, time_point now, Emit& emitter) {
    if (!make_room(served_job, p.head.sequence, now)) {
      return refuse_member(*served_job, member_number, p.head, refusal::no_slots, {p.head.worker, p.head.workers},
                           emitter);
    }
    ++counters_.stores;
    (void)served_job->slot_table().store(p.head, p.payload);
    emit_weights(*served_job, member_number, p.head, true, emitter);
  }
  template <class Emit>
  void answer_weights(job<Address>& served_job, std::uint8_t member_number, header const& h, Emit& emitter) {
    if (verdict const decision = served_job.slot_table().recall(h); decision.result != outcome::available) {
      return refuse_verdict(served_job, member_number, h, decision, emitter);
    }
    ++counters_.pulls;
    emit_weights(served_job, member_number, h, h.has(flag::no_data), emitter);
  }
  template <class Emit>
  void emit_weights(job<Address>& served_job, std::uint8_t member_number, header const& h, bool no_data,
                    Emit& emitter) {
    auto const& weights = served_job.slot_table().weights();
    header reply = h;
    reply.kind = kind::result;
    reply.fingerprint = weights.version(h.sequence);
    emit_to(served_job[member_number], reply, weights.data(h.sequence).first(no_data ? 0 : block_bytes), emitter);
  }

  template <class Emit>
  void answer(job<Address>& served_job, std::uint8_t member_number, header const& h, verdict const& decision,
              Emit& emitter) {
    switch (decision.result) {
      case outcome::pending:
        ++counters_.stored_contributions;
        return;
      case outcome::duplicate:
        ++counters_.duplicates;
        return;
      case outcome::busy:
        ++counters_.busy;
        return;
      case outcome::available:
        ++counters_.repeats;
        return emit_result(served_job, member_number, h, h.worker, h.has(flag::no_data), emitter);
      case outcome::complete:
        ++counters_.completed_results;
        counters_.updates += has_terms(h) ? 1U : 0U;
        return give_results(served_job, h, emitter);
      default:
        return refuse_verdict(served_job, member_number, h, decision, emitter);
    }
  }

  template <class Emit>
  void answer_query(job<Address>& served_job, std::uint8_t member_number, header const& h, Emit& emitter) {
    verdict const decision = served_job.slot_table().query(h);
    if (decision.result != outcome::pending && decision.result != outcome::available) {
      return refuse_verdict(served_job, member_number, h, decision, emitter);
    }
    ++counters_.queries;
    if (decision.result == outcome::available) {
      return emit_result(served_job, member_number, h, h.worker, h.has(flag::no_data), emitter);
    }
    aggregate const& a = served_job.slot_table().at(h);
    std::array<std::byte, bitmap_bytes(max_workers)> bitmap;
    std::span<std::byte> const payload(bitmap.data(), a.has_sequence(h.sequence) ? bitmap_bytes(h.workers) : 0);
    a.contributors.write(payload);
    header reply = h;
    reply.kind = kind::missing;
    emit_to(served_job[member_number], reply, payload, emitter);
  }

  template <class Emit>
  void emit_result(job<Address>& served_job, std::uint8_t member_number, header const& h, std::uint8_t worker,
                   bool no_data, Emit& emitter) {
    ++counters_.results;
    header reply = h;
    reply.kind = kind::result;
    reply.worker = worker;
    reply.flags = static_cast<std::uint16_t>((h.flags & ~flag::no_data) | (no_data ? flag::no_data : 0));
    emit_to(served_job[member_number], reply,
            served_job.slot_table().data(h).first(no_data ? 0 : served_job.slot_table().at(h).length), emitter);
  }

  template <class Emit>
  void refuse_verdict(job<Address>& served_job, std::uint8_t member_number, header const& h, verdict const& decision,
                      Emit& emitter) {
    switch (decision.result) {
      case outcome::late:
        return refuse_member(served_job, member_number, h, refusal::late, {h.worker, h.workers}, emitter);
      case outcome::mismatch:
        return refuse_member(served_job, member_number, h, refusal::mismatch,
                             {decision.differs, served_job.slot_table().at(h).workers}, emitter);
      case outcome::no_slot:
        return refuse_member(served_job, member_number, h, refusal::no_slots, {h.worker, h.workers}, emitter);
      case outcome::no_weights:
        return refuse_member(served_job, member_number, h, refusal::no_weights, {h.worker, h.workers}, emitter);
      default:
        return refuse_member(served_job, member_number, h, refusal::unsupported_operation, {h.worker, h.workers},
                             emitter);
    }
  }
  template <class Emit>
  void refuse_member(job<Address>& served_job, std::uint8_t member_number, header const& h, refusal reason,
                     mismatch_with const& o, Emit& emitter) {
    ++counters_.refusals_for(reason);
    std::byte const code{static_cast<std::uint8_t>(reason)};
    header reply = with_worker(h, o);
    reply.kind = kind::refuse;
    emit_to(served_job[member_number], reply, {&code, 1}, emitter);
  }
  /// Sends a refusal that is not longer than the refused packet, and at most every 100 us: the address may be forged.
  template <class Emit>
  void refuse_unknown(Address const& source, header const& h, refusal reason, time_point now, Emit& emitter) {
    ++counters_.refusals_for(reason);
    if (h.length == 0 || now < next_refusal_) {
      ++counters_.unanswered_refusals;
      return;
    }
    next_refusal_ = now + std::chrono::microseconds(100);
    std::byte const code{static_cast<std::uint8_t>(reason)};
    header reply = h;
    reply.kind = kind::refuse;
    reply.length = 1;
    reply.flags &= flag::phase | flag::in_rank_order | flag::weights;
    emitter(source, std::as_const(reply), std::span<std::byte const>(&code, 1));
  }
  /// Refuses the join of a new job, until it carries the proof that this refusal contains.
  template <class Emit>
  void ask_for_proof(Address const& source, header h, time_point now, Emit& emitter) {
    ++counters_.refusals_for(refusal::unknown);
    if (now - proofs_since_ >= std::chrono::milliseconds(1)) {
      proofs_since_ = now;
      proofs_ = 0;
    }
    if (proofs_ == max_proofs) {
      ++counters_.unanswered_refusals;
      return;
    }
    ++proofs_;
    std::byte const code{static_cast<std::uint8_t>(refusal::unknown)};
    h.kind = kind::refuse;
    h.fingerprint = proof_of(*limits_.guard, source, h.job);
    h.length = 1;
    h.flags &= flag::in_rank_order;
    emitter(source, std::as_const(h), std::span<std::byte const>(&code, 1));
  }
  [[nodiscard]] static header with_worker(header h, mismatch_with const& o) noexcept {
    h.worker = o.worker;
    h.workers = o.workers;
    return h;
  }

  template <class Emit>
  void emit_to(typename job<Address>::member& m, header reply, std::span<std::byte const> payload, Emit& emitter) {
    reply.length = static_cast<std::uint16_t>(payload.size());
    reply.flags = static_cast<std::uint16_t>(
        (reply.flags & (flag::phase | flag::in_rank_order | flag::no_data | flag::weights | flag::of_racks)) |
        (m.has_ecn_mark ? flag::congestion : 0));
    m.has_ecn_mark = false;
    emitter(std::as_const(m.at), std::as_const(reply), payload);
  }

  switch_limits limits_;
  udp::seal seal_;
  counters counters_;
  static constexpr unsigned max_proofs = 10;  ///< demanded in a millisecond

  time_point next_refusal_{};
  time_point proofs_since_{};
  unsigned proofs_ = 0;  ///< demanded since `proofs_since_`
  std::vector<job<Address>> jobs_;
};

}  // namespace tutti::detail::fpga_nic
