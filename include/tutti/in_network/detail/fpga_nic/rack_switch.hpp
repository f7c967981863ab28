// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The device of one rack, in software. It adds its members' contributions, and contributes the sum, as one worker,
/// to a job of the device above it, which joins the racks. Results come down and go to the members. Jobs without
/// racks are served as by any switch, and so are all jobs if there is no device above.
///
///     members  --contribute-->  rack switch  --contribute: sum of the rack-->  device above
///              <--result------               <--result: sum of all racks-----
///
/// The switch repeats nothing by itself and needs no timer: it sends up again what its members send again. It adds in
/// rank order, so a job has the bits of `hierarchical{star, star}`.
///
/// If the device above forgets a job, this switch forgets it, too: its members must not wait for results that only
/// some racks have got.
template <class Address>
class rack_switch {
 public:
  explicit rack_switch(switch_limits const& limits, seal const& packet_seal, std::optional<Address> device_above = {})
      : seal_(packet_seal),
        members_switch_(limits, packet_seal),
        device_above_(device_above.value_or(Address{})),
        has_device_above_(device_above.has_value()) {
    uplinks_.reserve(limits.jobs);
  }

  /// Counters of packets from members.
  [[nodiscard]] counters const& counts() const noexcept { return members_switch_.counts(); }
  [[nodiscard]] std::vector<job<Address>> const& jobs() const noexcept { return members_switch_.jobs(); }

  /// True for a packet of a member of an existing job, or of the device above about such a job.
  [[nodiscard]] bool knows(Address const& source, header const& h) const noexcept {
    bool const is_from_above = has_device_above_ && source == device_above_;
    return std::ranges::any_of(jobs(), [&](job<Address> const& served_job) {
      return served_job.nonce() == h.job && (is_from_above || served_job.find(source, h.worker) != max_workers);
    });
  }

  /// Counters of packets exchanged with the device above.
  struct uplink_counters {
    std::uint64_t sums = 0;             ///< sums of this rack
    std::uint64_t repeats = 0;          ///< sums sent again
    std::uint64_t results = 0;          ///< results received
    std::uint64_t ignored_packets = 0;  ///< packets that belong to nothing under way
  };
  [[nodiscard]] uplink_counters const& uplink_counts() const noexcept { return counters_; }

  /// Handles a packet; `has_ecn_mark`: a router marked congestion. Answers and packets for the device above go to
  /// `emitter(to, header, payload)`.
  template <class Emit>
  void take(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now,
            Emit&& emitter) {
    packet p;
    bool const is_from_above = has_device_above_ && source == device_above_;
    if (!has_device_above_ || seal_.read(bytes, p) != reading::good) {
      return members_switch_.take(source, bytes, has_ecn_mark, now, emitter);
    }
    if (is_from_above) {
      return take_from_above(p, has_ecn_mark, emitter);
    }
    if (p.head.has(flag::of_racks)) {
      return p.head.kind == kind::join ? join(source, p, has_ecn_mark, now, emitter)
                                       : members_switch_.count_malformed();
    }
    uplink* const link = find(p.head.job);
    if (link == nullptr) {
      return members_switch_.take(source, bytes, has_ecn_mark, now, emitter);
    }
    if (p.head.kind == kind::join) {  // not from a rack's member
      return members_switch_.count_malformed();
    }
    // Only the device of a world without racks holds weights.
    if (p.head.has(flag::weights) || p.head.operation == network_operation::update) {
      job<Address>* const served_job = members_switch_.find(link->nonce);
      std::uint8_t const member_number = served_job == nullptr ? max_workers : served_job->find(source, p.head.worker);
      return member_number == max_workers
                 ? members_switch_.count_malformed()
                 : members_switch_.refuse_unsupported(*served_job, member_number, p.head, emitter);
    }
    bool const waits = serve_member(source, bytes, has_ecn_mark, now, emitter);
    if (members_switch_.find(link->nonce) == nullptr) {
      return leave(*link, emitter);
    }
    if (p.head.kind != kind::supply && waits) {
      send_up(*link, source, p.head, now, emitter);
    } else if (p.head.kind == kind::supply && (waits || is_supplied(*link, p.head))) {
      finish(*link, p.head, p.payload, false, emitter);
    }
  }

  /// Frees jobs whose leases have all expired.
  template <class Emit>
  void free_abandoned(time_point now, Emit&& emitter) {
    members_switch_.free_abandoned(now);
    leave_ended_jobs(emitter);
  }

 private:
  /// State of one version of a slot with the device above.
  struct version {
    enum class state : std::uint8_t { idle, waiting, final };

    version::state progress = state::idle;
    std::uint32_t sequence = 0;
    time_point send_time{};
    worker_set queriers{};  ///< members that have queried this sequence, and wait for the answer from above
  };
  /// A job's membership in the device above.
  struct uplink {
    std::uint32_t nonce = 0;
    rack_position position{};
    bool is_member = false;
    worker_set joiners{};     ///< members that have joined, and wait for the device above to confirm
    terms requested_terms{};  ///< terms requested of the device above
    terms granted_terms{};    ///< terms that it granted
    std::uint32_t proof = 0;  ///< proof of address that the device above demanded, or 0
    std::vector<version> versions{};
  };

  static constexpr duration repeat_interval = std::chrono::microseconds(200);  ///< members repeat at one time
  static constexpr std::uint16_t no_slot = UINT16_MAX;  ///< slot of a contribution that only asks if this rack is known

  [[nodiscard]] uplink* find(std::uint32_t nonce) noexcept {
    for (uplink& link : uplinks_) {
      if (link.nonce == nonce) {
        return &link;
      }
    }
    return nullptr;
  }
  [[nodiscard]] static version& at(uplink& link, header const& h) noexcept {
    return link.versions[std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0)];
  }
  [[nodiscard]] static bool is_final(uplink& link, header const& h) noexcept {
    version const& slot_version = at(link, h);
    return slot_version.progress == version::state::final && slot_version.sequence == h.sequence;
  }
  /// True if a version holds a result that a member supplied, instead of a sum of all contributions.
  [[nodiscard]] bool is_supplied(uplink& link, header const& h) noexcept {
    slot_table const& table = members_switch_.find(link.nonce)->slot_table();
    if (h.slot >= table.size() || is_final(link, h)) {
      return false;
    }
    aggregate const& a = table.at(h);
    return a.has_sequence(h.sequence) && a.progress == aggregate::state::complete && a.count < a.workers;
  }

  // --- packets of members

  /// Lets the members' switch handle a packet. True if it completed a sum, which is not the result yet.
  template <class Emit>
  bool serve_member(Address const& source, std::span<std::byte const> bytes, bool has_ecn_mark, time_point now,
                    Emit& emitter) {
    bool waits = false;
    auto keep_sums = [&](Address const& destination, header const& h, std::span<std::byte const> payload) {
      uplink* const link = h.kind == kind::result ? find(h.job) : nullptr;
      if (link == nullptr || is_final(*link, h)) {
        return emitter(destination, h, payload);
      }
      waits = true;
      job<Address>& served_job = *members_switch_.find(h.job);
      auto& member = served_job[served_job.slot_table().at(h).member[h.worker]];
      member.has_ecn_mark = member.has_ecn_mark || h.has(flag::congestion);  // the member has not been told yet
    };
    members_switch_.take(source, bytes, has_ecn_mark, now, keep_sums);
    return waits;
  }

  template <class Emit>
  void join(Address const& source, packet const& p, bool has_ecn_mark, time_point now, Emit& emitter) {
    rack_position const position = read_position(p.payload);
    leave_ended_jobs(emitter);
    uplink* link = find(p.head.job);
    bool const is_other = link == nullptr ? members_switch_.find(p.head.job) != nullptr : link->position != position;
    if (is_other || position.racks < 2 || position.racks > max_racks || position.rack >= position.racks) {
      return members_switch_.count_malformed();
    }
    header plain = p.head;
    plain.flags &= static_cast<std::uint16_t>(~flag::of_racks);
    plain.length = terms::bytes;
    bool has_joined = false;
    auto keep = [&](Address const& destination, header const& h, std::span<std::byte const> payload) {
      if (h.kind != kind::grant) {
        return emitter(destination, h, payload);
      }
      has_joined = true;
      job<Address> const& served_job = *members_switch_.find(h.job);
      if (link == nullptr) {
        link = &uplinks_.emplace_back(uplink{.nonce = h.job, .position = position});
        link->versions.resize(std::size_t{served_job.slot_table().size()} * 2);
      }
      link->joiners.add(h.worker);
    };
    std::array<std::byte, max_packet> rewritten;
    members_switch_.take(
        source, std::span(rewritten).first(seal_.write(plain, p.payload.first(terms::bytes), rewritten.data())),
        has_ecn_mark, now, keep);
    if (has_joined) {
      link->requested_terms = read_terms(p.payload);
      link->is_member ? probe_membership(*link, emitter) : ask_to_join(*link, emitter);
    }
  }
  template <class Emit>
  void ask_to_join(uplink const& link, Emit& emitter) {
    header h = head_of(link, kind::join);
    h.fingerprint = link.proof;
    h.flags = flag::in_rank_order;
    std::array<std::byte, terms::bytes> payload;
    write(link.requested_terms, payload.data());
    h.length = terms::bytes;
    emitter(std::as_const(device_above_), std::as_const(h), std::span<std::byte const>(payload));
  }
  /// Sends a contribution to no slot: the device above refuses it for that, or because the sender is unknown.
  template <class Emit>
  void probe_membership(uplink const& link, Emit& emitter) {
    header h = head_of(link, kind::contribute);
    h.operation = network_operation::copy;
    h.slot = no_slot;
    h.length = 1;
    std::byte const dummy{};
    emitter(std::as_const(device_above_), std::as_const(h), std::span<std::byte const>(&dummy, 1));
  }

  /// Sends the members' sum to the device above, for the first time or again; forwards a member's query.
  template <class Emit>
  void send_up(uplink& link, Address const& source, header const& h, time_point now, Emit& emitter) {
    job<Address> const& served_job = *members_switch_.find(link.nonce);
    version& slot_version = at(link, h);
    bool const is_repeat = slot_version.progress == version::state::waiting && slot_version.sequence == h.sequence;
    if (!is_repeat) {
      slot_version = {.progress = version::state::waiting, .sequence = h.sequence};
    }
    if (h.kind == kind::query) {
      slot_version.queriers.add(served_job.find(source, h.worker));
    }
    if (is_repeat && now - slot_version.send_time < repeat_interval) {
      return;
    }
    slot_version.send_time = now;
    ++counters_.sums;
    counters_.repeats += is_repeat ? 1 : 0;
    std::span<std::byte const> const sum = served_job.slot_table().data(h);
    header reply = head_of(link, kind::contribute);
    reply.operation = h.operation;
    reply.sequence = h.sequence;
    reply.fingerprint = h.fingerprint;
    reply.slot = h.slot;
    reply.length = static_cast<std::uint16_t>(sum.size());
    bool const gave_elements = h.operation == network_operation::copy && !sum.empty();
    reply.flags =
        static_cast<std::uint16_t>((h.flags & flag::phase) | (combines(h.operation) ? flag::in_rank_order : 0) |
                                   (gave_elements ? flag::no_data : 0));
    emitter(std::as_const(device_above_), std::as_const(reply), sum);
    if (h.kind == kind::query) {
      reply.kind = kind::query;
      reply.length = 0;
      emitter(std::as_const(device_above_), std::as_const(reply), std::span<std::byte const>());
    }
  }
  [[nodiscard]] static header head_of(uplink const& link, udp::kind k) noexcept {
    return {.kind = k, .job = link.nonce, .worker = link.position.rack, .workers = link.position.racks};
  }

  template <class Emit>
  void leave(uplink& link, Emit& emitter) {
    header const h = head_of(link, kind::leave);
    uplinks_.erase(uplinks_.begin() + (&link - uplinks_.data()));
    emitter(std::as_const(device_above_), h, std::span<std::byte const>());
  }
  template <class Emit>
  void leave_ended_jobs(Emit& emitter) {
    for (std::size_t i = uplinks_.size(); i-- > 0;) {
      if (members_switch_.find(uplinks_[i].nonce) == nullptr) {
        leave(uplinks_[i], emitter);
      }
    }
  }

  // --- packets of the device above

  template <class Emit>
  void take_from_above(packet const& p, bool has_ecn_mark, Emit& emitter) {
    header const& h = p.head;
    uplink* const link = find(h.job);
    job<Address>* const served_job = members_switch_.find(h.job);
    if (link == nullptr || served_job == nullptr) {
      ++counters_.ignored_packets;
      return;
    }
    bool const is_congested = has_ecn_mark || h.has(flag::congestion);
    switch (h.kind) {
      case kind::grant:
        link->is_member = true;
        link->granted_terms = read_terms(p.payload);
        return answer_joins(*link, *served_job, emitter);
      case kind::result:
        return finish(*link, h, p.payload, is_congested, emitter);
      case kind::missing:
        return pass_down(*link, *served_job, h, p.payload, flag::of_racks, emitter);
      case kind::refuse:
        return take_refusal(*link, *served_job, p, emitter);
      default:
        ++counters_.ignored_packets;
        return;
    }
  }

  template <class Emit>
  void take_refusal(uplink& link, job<Address>& served_job, packet const& p, Emit& emitter) {
    header const& h = p.head;
    refusal const reason = read_refusal(p.payload);
    if (asks_for_proof(h, reason)) {
      // A second demand for the same proof means that the proof was wrong. Members join again soon, and repeat it.
      if (!link.is_member && std::exchange(link.proof, h.fingerprint) != h.fingerprint) {
        ask_to_join(link, emitter);
      }
    } else if (reason == refusal::unknown) {
      members_switch_.end(link.nonce);
      uplinks_.erase(uplinks_.begin() + (&link - uplinks_.data()));
    } else if (reason == refusal::no_slots && h.slot == no_slot) {
      answer_joins(link, served_job, emitter);
    } else if (h.operation == network_operation::none) {  // refused join
      header reply = h;
      each_joiner(link, served_job, [&](std::uint8_t member_number) {
        reply.worker = member_number;
        reply.workers = served_job.size();
        members_switch_.send_to(served_job, member_number, reply, p.payload, emitter);
      });
    } else {
      pass_down(link, served_job, h, p.payload, reason == refusal::mismatch ? flag::of_racks : 0, emitter);
    }
  }
  /// Grants the members what both devices grant.
  template <class Emit>
  void answer_joins(uplink& link, job<Address>& served_job, Emit& emitter) {
    each_joiner(link, served_job, [&](std::uint8_t member_number) {
      auto const lease = static_cast<std::uint32_t>(served_job[member_number].lease / std::chrono::milliseconds(1));
      std::array<std::byte, terms::bytes> payload;
      write(terms{(std::min)(lease, link.granted_terms.lease_ms),
                  (std::min)(served_job.slot_table().size(), link.granted_terms.slot_count)},
            payload.data());
      header reply{.kind = kind::grant, .job = link.nonce, .worker = member_number, .workers = served_job.size()};
      reply.flags = served_job.in_rank_order() ? flag::in_rank_order : 0;
      members_switch_.send_to(served_job, member_number, reply, payload, emitter);
    });
  }
  template <class F>
  static void each_joiner(uplink& link, job<Address>& served_job, F f) {
    std::exchange(link.joiners, {}).for_each([&](std::uint8_t member_number) {
      if (member_number < served_job.size() && served_job[member_number].is_present) {
        f(member_number);
      }
    });
  }

  /// Handles the result of a version that waits for it.
  template <class Emit>
  void finish(uplink& link, header const& h, std::span<std::byte const> result, bool has_ecn_mark, Emit& emitter) {
    job<Address>& served_job = *members_switch_.find(link.nonce);
    if (h.slot >= served_job.slot_table().size() || is_final(link, h) || !served_job.slot_table().replace(h, result)) {
      ++counters_.ignored_packets;
      return;
    }
    ++counters_.results;
    at(link, h) = {version::state::final, h.sequence, {}};
    aggregate const& a = served_job.slot_table().at(h);
    a.contributors.for_each([&](std::uint8_t w) {
      served_job[a.member[w]].has_ecn_mark = served_job[a.member[w]].has_ecn_mark || has_ecn_mark;
    });
    served_job.serve();
    header reply = h;
    reply.workers = a.workers;
    reply.flags = static_cast<std::uint16_t>((h.flags & flag::phase) | (a.in_rank_order ? flag::in_rank_order : 0));
    members_switch_.give_results(served_job, reply, emitter);
  }
  /// Passes an answer of the device above to the members that wait for a version: missing racks to the members that
  /// have queried, anything else to all.
  template <class Emit>
  void pass_down(uplink& link, job<Address>& served_job, header const& h, std::span<std::byte const> payload,
                 std::uint16_t flags, Emit& emitter) {
    bool const waits = h.slot < served_job.slot_table().size() && at(link, h).progress == version::state::waiting;
    if (!waits || at(link, h).sequence != h.sequence || !served_job.slot_table().at(h).has_sequence(h.sequence)) {
      ++counters_.ignored_packets;
      return;
    }
    aggregate const& a = served_job.slot_table().at(h);
    worker_set const queriers = std::exchange(at(link, h).queriers, {});
    header reply = h;
    reply.flags = static_cast<std::uint16_t>((h.flags & (flag::phase | flag::in_rank_order)) | flags);
    a.contributors.for_each([&](std::uint8_t w) {
      if (served_job[a.member[w]].is_present && (h.kind != kind::missing || queriers.has(a.member[w]))) {
        members_switch_.send_to(served_job, a.member[w], reply, payload, emitter);
      }
    });
  }

  seal seal_;
  summing_switch<Address> members_switch_;
  Address device_above_;
  bool has_device_above_;
  std::vector<uplink> uplinks_;
  uplink_counters counters_;
};

}  // namespace tutti::detail::fpga_nic
