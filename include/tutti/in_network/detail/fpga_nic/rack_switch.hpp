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

/// A device of one rack, as a program: it adds what its members contribute, and takes part with the sum in a job of the
/// device above it, which joins the racks, as one worker. Results come down, and are given to the members. A job that
/// was not joined as a rack's is served as by any other switch, and all are if there is no device above.
///
/// It repeats nothing by itself, and needs no clock: what its members send again, it sends again upwards. Like them it
/// adds in rank order, so that a job has the bits of `hierarchical{star, star}`.
///
/// If the device above has forgotten a job, this one forgets it, too: its members must not wait for what only some
/// racks have got.
template <class Address>
class rack_switch {
 public:
  explicit rack_switch(switch_limits const& limits, seal const& s, std::optional<Address> above = {})
      : seal_(s), below_(limits, s), above_(above.value_or(Address{})), is_rack_(above.has_value()) {
    climbs_.reserve(limits.jobs);
  }

  /// What has come from members.
  [[nodiscard]] counters const& counted() const noexcept { return below_.counted(); }
  [[nodiscard]] std::vector<job<Address>> const& jobs() const noexcept { return below_.jobs(); }

  /// Whether it is of a member of a job that there is, or of the device above about such a job.
  [[nodiscard]] bool knows(Address const& from, header const& h) const noexcept {
    bool const is_from_above = is_rack_ && from == above_;
    return std::ranges::any_of(jobs(), [&](job<Address> const& j) {
      return j.nonce() == h.job && (is_from_above || j.find(from, h.worker) != max_workers);
    });
  }

  /// With the device above.
  struct climb_counters {
    std::uint64_t sent = 0;      ///< sums of this rack
    std::uint64_t repeated = 0;  ///< of these, those that were sent before
    std::uint64_t results = 0;   ///< that have come
    std::uint64_t ignored = 0;   ///< packets that belong to nothing that waits
  };
  [[nodiscard]] climb_counters const& climbed() const noexcept { return counters_; }

  /// Takes a packet as it came; `congested` if it came marked by ECN. Answers, and what goes up, are handed to
  /// `emitter(to, header, payload)`.
  template <class Emit>
  void take(Address const& from, std::span<std::byte const> bytes, bool congested, time_point now, Emit&& emitter) {
    packet p;
    bool const is_from_above = is_rack_ && from == above_;
    if (!is_rack_ || seal_.read(bytes, p) != reading::good) {
      return below_.take(from, bytes, congested, now, emitter);
    }
    if (is_from_above) {
      return hear(p, congested, emitter);
    }
    if (p.head.has(flag::of_racks)) {
      return p.head.kind == kind::join ? join(from, p, congested, now, emitter) : below_.count_malformed();
    }
    climb* const c = find(p.head.job);
    if (c == nullptr) {
      return below_.take(from, bytes, congested, now, emitter);
    }
    if (p.head.kind == kind::join) {  // not as a rack's member
      return below_.count_malformed();
    }
    if (p.head.has(flag::keyed) || p.head.operation == network_operation::update) {  // weights are held by one device
      job<Address>* const j = below_.find(c->nonce);
      std::uint8_t const m = j == nullptr ? max_workers : j->find(from, p.head.worker);
      return m == max_workers ? below_.count_malformed() : below_.refuse_unsupported(*j, m, p.head, emitter);
    }
    bool const waits = hand_down(from, bytes, congested, now, emitter);
    if (below_.find(c->nonce) == nullptr) {
      return leave(*c, emitter);
    }
    if (p.head.kind != kind::supply && waits) {
      go_up(*c, from, p.head, now, emitter);
    } else if (p.head.kind == kind::supply && (waits || is_supplied(*c, p.head))) {
      finish(*c, p.head, p.payload, false, emitter);
    }
  }

  /// Frees jobs whose leases have all run out.
  template <class Emit>
  void free_abandoned(time_point now, Emit&& emitter) {
    below_.free_abandoned(now);
    leave_the_gone(emitter);
  }

 private:
  /// What is known above of one version of a slot.
  struct version {
    enum class state : std::uint8_t { none, sent, final };

    version::state stands = state::none;
    std::uint32_t sequence = 0;
    time_point sent{};
    worker_set asked{};  ///< members that have asked about it, and wait for the device above to answer
  };
  /// A job's part with the device above.
  struct climb {
    std::uint32_t nonce = 0;
    rack_place place{};
    bool joined = false;
    worker_set asking{};      ///< members that have joined, and wait for the device above to say so
    terms wanted{};           ///< what it is asked for
    terms above{};            ///< what that has granted
    std::uint32_t proof = 0;  ///< that this device receives at its address, as that has said; 0: not asked for
    std::vector<version> versions{};
  };

  static constexpr duration between_repeats = std::chrono::microseconds(200);  ///< members repeat at the same time
  static constexpr std::uint16_t no_slot = UINT16_MAX;  ///< of a question: whether it knows this rack

  [[nodiscard]] climb* find(std::uint32_t nonce) noexcept {
    for (climb& c : climbs_) {
      if (c.nonce == nonce) {
        return &c;
      }
    }
    return nullptr;
  }
  [[nodiscard]] static version& at(climb& c, header const& h) noexcept {
    return c.versions[std::size_t{h.slot} * 2 + (h.has(flag::phase) ? 1 : 0)];
  }
  [[nodiscard]] static bool is_final(climb& c, header const& h) noexcept {
    version const& v = at(c, h);
    return v.stands == version::state::final && v.sequence == h.sequence;
  }
  /// Whether a version holds a result that a member has supplied, and not a sum: such a one needs all contributions.
  [[nodiscard]] bool is_supplied(climb& c, header const& h) noexcept {
    slot_table const& all = below_.find(c.nonce)->slot_table();
    if (h.slot >= all.size() || is_final(c, h)) {
      return false;
    }
    aggregate const& a = all.at(h);
    return a.is(h.sequence) && a.stands == aggregate::state::complete && a.count < a.workers;
  }

  // --- from members

  /// Lets the switch of the members take a packet. Whether it had a sum to answer with which is not the result yet.
  template <class Emit>
  bool hand_down(Address const& from, std::span<std::byte const> bytes, bool congested, time_point now, Emit& emitter) {
    bool waits = false;
    auto keep_sums = [&](Address const& to, header const& h, std::span<std::byte const> payload) {
      climb* const c = h.kind == kind::result ? find(h.job) : nullptr;
      if (c == nullptr || is_final(*c, h)) {
        return emitter(to, h, payload);
      }
      waits = true;
      job<Address>& j = *below_.find(h.job);
      auto& member = j[j.slot_table().at(h).member[h.worker]];
      member.congested = member.congested || h.has(flag::congested);  // it has not been told yet
    };
    below_.take(from, bytes, congested, now, keep_sums);
    return waits;
  }

  template <class Emit>
  void join(Address const& from, packet const& p, bool congested, time_point now, Emit& emitter) {
    rack_place const place = read_place(p.payload);
    leave_the_gone(emitter);
    climb* c = find(p.head.job);
    bool const is_other = c == nullptr ? below_.find(p.head.job) != nullptr : c->place != place;
    if (is_other || place.racks < 2 || place.racks > max_racks || place.rack >= place.racks) {
      return below_.count_malformed();
    }
    header plain = p.head;
    plain.flags &= static_cast<std::uint16_t>(~flag::of_racks);
    plain.length = terms::bytes;
    bool has_joined = false;
    auto keep = [&](Address const& to, header const& h, std::span<std::byte const> payload) {
      if (h.kind != kind::joined) {
        return emitter(to, h, payload);
      }
      has_joined = true;
      job<Address> const& j = *below_.find(h.job);
      if (c == nullptr) {
        c = &climbs_.emplace_back(climb{.nonce = h.job, .place = place});
        c->versions.resize(std::size_t{j.slot_table().size()} * 2);
      }
      c->asking.add(h.worker);
    };
    std::array<std::byte, max_packet> again;
    below_.take(from, std::span(again).first(seal_.write(plain, p.payload.first(terms::bytes), again.data())),
                congested, now, keep);
    if (has_joined) {
      c->wanted = read_terms(p.payload);
      c->joined ? ask_whether_known(*c, emitter) : ask_to_join(*c, emitter);
    }
  }
  template <class Emit>
  void ask_to_join(climb const& c, Emit& emitter) {
    header h = head_of(c, kind::join);
    h.fingerprint = c.proof;
    h.flags = flag::in_rank_order;
    std::array<std::byte, terms::bytes> payload;
    write(c.wanted, payload.data());
    h.length = terms::bytes;
    emitter(std::as_const(above_), std::as_const(h), std::span<std::byte const>(payload));
  }
  /// A contribution to no slot: refused as that, or as an unknown sender's.
  template <class Emit>
  void ask_whether_known(climb const& c, Emit& emitter) {
    header h = head_of(c, kind::contribute);
    h.operation = network_operation::copy;
    h.slot = no_slot;
    h.length = 1;
    std::byte const any{};
    emitter(std::as_const(above_), std::as_const(h), std::span<std::byte const>(&any, 1));
  }

  /// Sends up what the members have come to, for the first time or again; asks, if that is what a member does.
  template <class Emit>
  void go_up(climb& c, Address const& from, header const& h, time_point now, Emit& emitter) {
    job<Address> const& j = *below_.find(c.nonce);
    version& v = at(c, h);
    bool const again = v.stands == version::state::sent && v.sequence == h.sequence;
    if (!again) {
      v = {.stands = version::state::sent, .sequence = h.sequence};
    }
    if (h.kind == kind::query) {
      v.asked.add(j.find(from, h.worker));
    }
    if (again && now - v.sent < between_repeats) {
      return;
    }
    v.sent = now;
    ++counters_.sent;
    counters_.repeated += again ? 1 : 0;
    std::span<std::byte const> const sum = j.slot_table().data(h);
    header r = head_of(c, kind::contribute);
    r.operation = h.operation;
    r.sequence = h.sequence;
    r.fingerprint = h.fingerprint;
    r.slot = h.slot;
    r.length = static_cast<std::uint16_t>(sum.size());
    bool const gave = h.operation == network_operation::copy && !sum.empty();
    r.flags = static_cast<std::uint16_t>((h.flags & flag::phase) | (combines(h.operation) ? flag::in_rank_order : 0) |
                                         (gave ? flag::no_data : 0));
    emitter(std::as_const(above_), std::as_const(r), sum);
    if (h.kind == kind::query) {
      r.kind = kind::query;
      r.length = 0;
      emitter(std::as_const(above_), std::as_const(r), std::span<std::byte const>());
    }
  }
  [[nodiscard]] static header head_of(climb const& c, udp::kind k) noexcept {
    return {.kind = k, .job = c.nonce, .worker = c.place.rack, .workers = c.place.racks};
  }

  template <class Emit>
  void leave(climb& c, Emit& emitter) {
    header const h = head_of(c, kind::leave);
    climbs_.erase(climbs_.begin() + (&c - climbs_.data()));
    emitter(std::as_const(above_), h, std::span<std::byte const>());
  }
  template <class Emit>
  void leave_the_gone(Emit& emitter) {
    for (std::size_t i = climbs_.size(); i-- > 0;) {
      if (below_.find(climbs_[i].nonce) == nullptr) {
        leave(climbs_[i], emitter);
      }
    }
  }

  // --- from above

  template <class Emit>
  void hear(packet const& p, bool congested, Emit& emitter) {
    header const& h = p.head;
    climb* const c = find(h.job);
    job<Address>* const j = below_.find(h.job);
    if (c == nullptr || j == nullptr) {
      ++counters_.ignored;
      return;
    }
    bool const slows = congested || h.has(flag::congested);
    switch (h.kind) {
      case kind::joined:
        c->joined = true;
        c->above = read_terms(p.payload);
        return answer_joins(*c, *j, emitter);
      case kind::result:
        return finish(*c, h, p.payload, slows, emitter);
      case kind::missing:
        return pass(*c, *j, h, p.payload, flag::of_racks, emitter);
      case kind::refuse:
        return hear_refusal(*c, *j, p, emitter);
      default:
        ++counters_.ignored;
        return;
    }
  }

  template <class Emit>
  void hear_refusal(climb& c, job<Address>& j, packet const& p, Emit& emitter) {
    header const& h = p.head;
    refusal const why = read_refusal(p.payload);
    if (asks_for_proof(h, why)) {
      // A number that comes twice did not fit. Members ask once more soon, and their joins repeat it.
      if (!c.joined && std::exchange(c.proof, h.fingerprint) != h.fingerprint) {
        ask_to_join(c, emitter);
      }
    } else if (why == refusal::unknown) {
      below_.end(c.nonce);
      climbs_.erase(climbs_.begin() + (&c - climbs_.data()));
    } else if (why == refusal::no_slots && h.slot == no_slot) {
      answer_joins(c, j, emitter);
    } else if (h.operation == network_operation::none) {  // of a join
      header r = h;
      each_asking(c, j, [&](std::uint8_t m) {
        r.worker = m;
        r.workers = j.size();
        below_.tell(j, m, r, p.payload, emitter);
      });
    } else {
      pass(c, j, h, p.payload, why == refusal::mismatch ? flag::of_racks : 0, emitter);
    }
  }
  /// With what both devices grant.
  template <class Emit>
  void answer_joins(climb& c, job<Address>& j, Emit& emitter) {
    each_asking(c, j, [&](std::uint8_t m) {
      auto const lease = static_cast<std::uint32_t>(j[m].lease / std::chrono::milliseconds(1));
      std::array<std::byte, terms::bytes> payload;
      write(terms{(std::min)(lease, c.above.lease_ms), (std::min)(j.slot_table().size(), c.above.slot_count)},
            payload.data());
      header r{.kind = kind::joined, .job = c.nonce, .worker = m, .workers = j.size()};
      r.flags = j.in_rank_order() ? flag::in_rank_order : 0;
      below_.tell(j, m, r, payload, emitter);
    });
  }
  template <class F>
  static void each_asking(climb& c, job<Address>& j, F f) {
    std::exchange(c.asking, {}).each([&](std::uint8_t m) {
      if (m < j.size() && j[m].is_present) {
        f(m);
      }
    });
  }

  /// The result of a version that waits for it.
  template <class Emit>
  void finish(climb& c, header const& h, std::span<std::byte const> result, bool congested, Emit& emitter) {
    job<Address>& j = *below_.find(c.nonce);
    if (h.slot >= j.slot_table().size() || is_final(c, h) || !j.slot_table().replace(h, result)) {
      ++counters_.ignored;
      return;
    }
    ++counters_.results;
    at(c, h) = {version::state::final, h.sequence, {}};
    aggregate const& a = j.slot_table().at(h);
    a.arrived.each([&](std::uint8_t w) { j[a.member[w]].congested = j[a.member[w]].congested || congested; });
    j.serve();
    header r = h;
    r.workers = a.workers;
    r.flags = static_cast<std::uint16_t>((h.flags & flag::phase) | (a.in_rank_order ? flag::in_rank_order : 0));
    below_.give_results(j, r, emitter);
  }
  /// Tells members that wait for a version what the device above says of it: which racks are missing to those that have
  /// asked, what else there is to all.
  template <class Emit>
  void pass(climb& c, job<Address>& j, header const& h, std::span<std::byte const> payload, std::uint16_t flags,
            Emit& emitter) {
    bool const waits = h.slot < j.slot_table().size() && at(c, h).stands == version::state::sent;
    if (!waits || at(c, h).sequence != h.sequence || !j.slot_table().at(h).is(h.sequence)) {
      ++counters_.ignored;
      return;
    }
    aggregate const& a = j.slot_table().at(h);
    worker_set const asked = std::exchange(at(c, h).asked, {});
    header r = h;
    r.flags = static_cast<std::uint16_t>((h.flags & (flag::phase | flag::in_rank_order)) | flags);
    a.arrived.each([&](std::uint8_t w) {
      if (j[a.member[w]].is_present && (h.kind != kind::missing || asked.has(a.member[w]))) {
        below_.tell(j, a.member[w], r, payload, emitter);
      }
    });
  }

  seal seal_;
  summing_switch<Address> below_;
  Address above_;
  bool is_rack_;
  std::vector<climb> climbs_;
  climb_counters counters_;
};

}  // namespace tutti::detail::fpga_nic
