// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/job_terms.hpp>
#include <tutti/in_network/detail/fpga_nic/worker_set.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Which server a packet's worth of elements has been given to. A member that has given it to the stand-in takes no
/// result of it from the device any more.
enum class given_to : std::uint8_t { none, device, stand_in };

/// What one lane of a member has under way with a helper: one flow, cut into packets, and the last results.
///
/// Packets are numbered by sequence, from one flow to the next, alike on all members. A slot takes sequence q when it
/// has the result of q - slots. The results of that many packets are kept, for members that have lost them.
class exchange {
 public:
  /// One packet's worth of a message.
  struct piece {
    time_point sent{};
    time_point questioned{};  ///< its server was asked about it, for the first time since that was heard on this lane
    given_to at = given_to::none;
    std::uint8_t device_life = 0;  ///< of the device that it was given to: see `member`
    bool done = false;
    bool repeated = false;  ///< sent more than once
    bool asked = false;     ///< what was sent last was a question
    bool wanted = false;    ///< the stand-in waits for it, so it is not given to a device first
  };
  /// A result.
  struct kept {
    header head{};  ///< `none` as its operation: nothing
    std::array<std::byte, max_payload> bytes{};

    [[nodiscard]] std::span<std::byte const> data() const noexcept { return std::span(bytes).first(head.length); }
  };

  /// @pre the slots are a power of two; called once, before all else. The terms outlive this
  void open(job_terms const& terms, rank_type me) {
    slots_ = terms.slot_count;
    racks_ = terms.has_racks() ? &terms.racks : nullptr;
    rack_ = racks_ != nullptr ? racks_->host(me) : 0;
    pieces_.resize(2 * std::size_t{slots_});
    kept_.resize(slots_);
  }

  /// A flow begins, of a call with this fingerprint.
  void begin(flow s, std::uint32_t fingerprint) noexcept {
    drop();
    on_ = s;
    fingerprint_ = fingerprint;
  }
  /// What this member does in it. @pre a helper's share is taken once in a flow
  void take_part(helper_part const& part) {
    part_ = part;
    count_racks();
    base_ = next_;
    count_ = static_cast<std::uint32_t>((part.bytes + max_payload - 1) / max_payload);
    next_ += count_;
    front_ = sent_ = highest_ = 0;
    taken_ = held_ = 0;
    overtaken_ = {};
    present_ = {};
    has_bitmap_ = false;
    active_ = part.worker != no_rank && count_ != 0;
    from_ = nullptr;
    place_ = nullptr;
    std::fill_n(pieces_.begin(), (std::min)(std::size_t{count_}, pieces_.size()), piece{});
  }
  /// Forgets the user's memory, and what is under way: nothing is sent or received any more.
  void drop() noexcept {
    active_ = false;
    from_ = nullptr;
    place_ = nullptr;
    part_.workers = {};
    count_ = sent_ = front_;
  }

  // --- the user's side

  /// The contribution; it stays where it is until its results are there.
  void give(std::byte const* from) noexcept { from_ = from; }
  /// Where the result is wanted. What has come before is put there.
  void want(std::byte* place) {
    if (place_ != nullptr) {
      return;
    }
    place_ = place;
    for (std::uint32_t i = 0; i != (std::min)(highest_, count_); ++i) {
      if (at(i).done) {
        put(i);
      }
    }
  }
  /// What may be taken of the result now, of whole granules.
  [[nodiscard]] chunk view(std::size_t granule) noexcept {
    std::size_t there = (std::min)(std::size_t{front_} * max_payload, part_.bytes);
    there -= there == part_.bytes ? 0 : there % granule;
    if (there <= taken_) {
      return {};
    }
    held_ = there - taken_;
    return {place_ + taken_, held_};
  }
  void release() noexcept {
    taken_ += held_;
    held_ = 0;
  }

  [[nodiscard]] flow on() const noexcept { return on_; }
  [[nodiscard]] helper_part const& part() const noexcept { return part_; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] std::byte* place() const noexcept { return place_; }
  /// Whether it may be sent: what it gives is there, and where its result goes, too.
  [[nodiscard]] bool ready() const noexcept {
    return active_ && (!mine().gives || from_ != nullptr) && (!mine().gets || place_ != nullptr);
  }
  [[nodiscard]] bool over() const noexcept { return front_ == count_; }

  // --- packets

  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slots_; }
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] std::uint32_t highest() const noexcept { return highest_; }
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  [[nodiscard]] piece& at(std::uint32_t i) noexcept { return pieces_[i & (pieces_.size() - 1)]; }
  [[nodiscard]] piece const& at(std::uint32_t i) const noexcept { return pieces_[i & (pieces_.size() - 1)]; }

  /// Whether piece i may be sent for the first time: its slot has been left.
  [[nodiscard]] bool may_send(std::uint32_t i) noexcept {
    return i < count_ && i < front_ + slots_ + slots_ && (i < slots_ || i - slots_ < front_ || at(i - slots_).done);
  }
  void count_sent(std::uint32_t i) noexcept { sent_ = (std::max)(sent_, i + 1); }
  /// The stand-in waits for a piece that has not been sent yet.
  void want_at_stand_in(std::uint32_t sequence) noexcept {
    std::uint32_t const i = sequence - base_;
    if (active_ && i >= sent_ && i < count_ && i - front_ < pieces_.size()) {
      at(i).wanted = true;
    }
  }

  /// What a server of this kind is told of piece i.
  [[nodiscard]] header head_of(kind k, std::uint32_t i, std::uint32_t lane, given_to server) const noexcept {
    std::uint32_t const q = base_ + i;
    header h{.kind = k,
             .operation = part_.operation,
             .sequence = q,
             .fingerprint = fingerprint_,
             .slot = static_cast<std::uint16_t>(lane * slots_ + (q & (slots_ - 1)))};
    h.flags = static_cast<std::uint16_t>(((q / slots_ & 1U) != 0 ? flag::phase : 0) |
                                         (mine().gives && copies() ? flag::no_data : 0));
    number(h, server);
    return h;
  }
  /// The sequence of piece i.
  [[nodiscard]] std::uint32_t sequence_of(std::uint32_t i) const noexcept { return base_ + i; }
  /// Whether a device can do this: where each rack has one, each must have something to give, and none holds weights.
  [[nodiscard]] bool is_for_devices() const noexcept {
    return racks_ == nullptr || (fills_racks_ && part_.operation != network_operation::update);
  }

  /// The rank that a server has named.
  [[nodiscard]] rank_type named(header const& h, given_to server) const noexcept {
    unsigned in_rack = 0;
    for (helper_worker const& w : part_.workers) {
      bool const is_meant = !counts_by_rack(server) ? &w == part_.workers.data() + h.worker
                            : h.has(flag::of_racks) ? racks_->host(w.rank) == h.worker
                                                    : racks_->host(w.rank) == rack_ && in_rack++ == h.worker;
      if (is_meant) {
        return w.rank;
      }
    }
    return no_rank;
  }
  /// The workers that have contributed, as far as a server knows: `said` is what it has said.
  [[nodiscard]] worker_set present(packet const& said, given_to server) const noexcept {
    worker_set const bits = worker_set::read(said.payload, said.head.workers);
    if (!counts_by_rack(server)) {
      return bits;
    }
    bool const of_racks = said.head.has(flag::of_racks);
    worker_set all;
    unsigned in_rack = 0;
    for (unsigned w = 0; w != part_.workers.size(); ++w) {
      rank_type const rack = racks_->host(part_.workers[w].rank);
      if (rack == rack_ ? of_racks || bits.has(in_rack++) : !of_racks || bits.has(rack)) {
        all.add(w);
      }
    }
    return all;
  }
  /// The elements that piece i gives: none where this member gives nothing.
  [[nodiscard]] std::span<std::byte const> content(std::uint32_t i) const noexcept {
    return mine().gives ? std::span(from_ + offset(i), length(i)) : std::span<std::byte const>{};
  }
  /// Bytes of the result of piece i: what was only passed on, its giver has.
  [[nodiscard]] std::size_t awaited(std::uint32_t i) const noexcept { return mine().gives && copies() ? 0 : length(i); }
  /// The piece of a sequence, or `none`.
  [[nodiscard]] std::uint32_t piece_of(std::uint32_t sequence) const noexcept {
    std::uint32_t const i = sequence - base_;
    return active_ && i < count_ && i >= front_ && i < sent_ ? i : none;
  }
  static constexpr std::uint32_t none = UINT32_MAX;

  /// A result has come. @pre of a piece that is under way
  void finish(std::uint32_t i, header const& h, std::span<std::byte const> data) {
    kept& k = kept_[h.sequence & (slots_ - 1)];
    k.head = h;
    number(k.head, given_to::stand_in);  // which will get it
    std::span<std::byte const> const all = mine().gives && copies() ? content(i) : data;
    k.head.length = static_cast<std::uint16_t>(all.size());
    if (!all.empty()) {
      std::memcpy(k.bytes.data(), all.data(), all.size());
    }
    at(i).done = true;
    highest_ = (std::max)(highest_, i + 1);
    if (place_ != nullptr && mine().gets) {
      put(i);
    }
    while (front_ != count_ && front_ < highest_ && at(front_).done) {
      at(front_) = {};  // its place serves the piece that comes 2 slots later
      ++front_;
      has_bitmap_ = false;
    }
  }
  /// A result that is kept, or null.
  [[nodiscard]] kept const* find_kept(std::uint32_t sequence) const noexcept {
    kept const& k = kept_[sequence & (slots_ - 1)];
    return k.head.operation != network_operation::none && k.head.sequence == sequence ? &k : nullptr;
  }

  /// A server has said something on this lane.
  void hear_from(given_to server, time_point now) noexcept { heard_[static_cast<std::size_t>(server)] = now; }
  /// The server of a piece is asked about it. @pre it has been given
  void question(std::uint32_t i, time_point now) noexcept { at(i).questioned = owes(i) ? at(i).questioned : now; }
  /// Whether it owes an answer. What it says on other lanes is none: it may be the switch of a rack, which answers for
  /// some pieces by itself, while those that need the device above are not answered.
  [[nodiscard]] bool owes(std::uint32_t i) const noexcept {
    return at(i).questioned > heard_[static_cast<std::size_t>(at(i).at)];
  }
  /// Whether it has owed one for so long.
  [[nodiscard]] bool is_silent(std::uint32_t i, time_point now, duration limit) const noexcept {
    return owes(i) && now - at(i).questioned >= limit;
  }

  /// A piece that was sent at that time has its result: those that were sent before are late.
  void overtake(time_point sent) noexcept { overtaken_ = (std::max)(overtaken_, sent); }
  [[nodiscard]] time_point overtaken() const noexcept { return overtaken_; }

  // --- the workers that are missing

  /// Those that have contributed to the oldest piece that is under way, as a server says.
  void hear(worker_set const& present) noexcept {
    present_ = present;
    confirmed_ = has_bitmap_ ? confirmed_ : worker_set{};
    has_bitmap_ = true;
  }
  /// Another server has the oldest piece that is under way now: what the one before has said of it no longer holds.
  void forget_present() noexcept { has_bitmap_ = false; }
  /// A worker itself says that it has contributed to that.
  void confirm(unsigned w) noexcept { confirmed_.add(w); }
  /// Calls f(rank) for the other workers whose contributions are missing, if that is known. (Its own is under way.)
  template <class F>
  void each_missing(F f) const {
    for (std::size_t w = 0; has_bitmap_ && w != part_.workers.size(); ++w) {
      bool const is_there = present_.has(static_cast<unsigned>(w)) || confirmed_.has(static_cast<unsigned>(w));
      if (w != part_.worker && !is_there) {
        f(part_.workers[w].rank);
      }
    }
  }
  /// The first of them, or no_rank.
  [[nodiscard]] rank_type missing() const noexcept {
    rank_type first = no_rank;
    each_missing([&](rank_type r) { first = first == no_rank ? r : first; });
    return first;
  }

 private:
  [[nodiscard]] bool counts_by_rack(given_to server) const noexcept {
    return racks_ != nullptr && server == given_to::device;
  }
  /// The rack's device numbers the workers of the rack, the stand-in all of them; that adds in order, rack by rack.
  void number(header& h, given_to server) const noexcept {
    bool const by_rack = counts_by_rack(server);
    std::size_t const workers = by_rack ? rack_workers_ : part_.workers.size();
    h.worker = static_cast<std::uint8_t>(by_rack ? rack_worker_ : part_.worker);
    h.workers = static_cast<std::uint8_t>(workers);
    bool const few = workers <= max_workers_in_order || (racks_ != nullptr && !by_rack);
    h.flags = static_cast<std::uint16_t>((h.flags & ~flag::in_rank_order) |
                                         (combines(part_.operation) && few ? flag::in_rank_order : 0));
  }
  void count_racks() noexcept {
    if (racks_ == nullptr) {
      return;
    }
    std::uint32_t filled = 0;
    rack_workers_ = rack_worker_ = 0;
    for (rank_type w = 0; w != part_.workers.size(); ++w) {
      rank_type const rack = racks_->host(part_.workers[w].rank);
      filled |= 1U << rack;
      rack_worker_ += rack == rack_ && w < part_.worker ? 1U : 0U;
      rack_workers_ += rack == rack_ ? 1U : 0U;
    }
    fills_racks_ = filled + 1 == 1U << racks_->hosts();
  }

  [[nodiscard]] std::size_t length(std::uint32_t i) const noexcept {
    return (std::min)(max_payload, part_.bytes - offset(i));
  }
  [[nodiscard]] helper_worker const& mine() const noexcept { return part_.workers[part_.worker]; }
  [[nodiscard]] bool copies() const noexcept { return part_.operation == network_operation::copy; }
  [[nodiscard]] static std::size_t offset(std::uint32_t i) noexcept { return std::size_t{i} * max_payload; }

  /// Copies a result that is kept to where it is wanted.
  void put(std::uint32_t i) noexcept {
    if (kept const* const k = find_kept(base_ + i)) {
      std::memcpy(place_ + offset(i), k->bytes.data(), k->head.length);
    }
  }

  std::uint32_t slots_ = 0;
  host_map const* racks_ = nullptr;  ///< none: there is one device
  rank_type rack_ = 0;               ///< of this member
  rank_type rack_worker_ = 0;        ///< its place among the workers of its rack
  rank_type rack_workers_ = 0;
  bool fills_racks_ = false;  ///< each rack has a worker
  flow on_{};
  std::uint32_t fingerprint_ = 0;
  helper_part part_{};
  bool active_ = false;
  std::byte const* from_ = nullptr;
  std::byte* place_ = nullptr;
  std::uint32_t base_ = 0;     ///< the sequence of the first piece
  std::uint32_t next_ = 0;     ///< of the next flow's
  std::uint32_t count_ = 0;    ///< pieces
  std::uint32_t front_ = 0;    ///< pieces whose results are there, without a gap
  std::uint32_t sent_ = 0;     ///< one more than the last that was sent
  std::uint32_t highest_ = 0;  ///< one more than the last whose result is there
  time_point overtaken_{};
  std::array<time_point, 3> heard_{};  ///< by server
  std::size_t taken_ = 0;
  std::size_t held_ = 0;
  worker_set present_{};
  worker_set confirmed_{};
  bool has_bitmap_ = false;
  std::vector<piece> pieces_;  ///< of those from `front_` on
  std::vector<kept> kept_;
};

}  // namespace tutti::detail::fpga_nic
