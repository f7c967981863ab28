// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/protocol.hpp>
#include <tutti/detail/fpga_nic/worker_set.hpp>
#include <tutti/message.hpp>
#include <tutti/time.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::detail::fpga_nic {

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
    given_to at = given_to::none;
    std::uint8_t device_life = 0;  ///< of the device that it was given to: see `member`
    bool done = false;
    bool repeated = false;  ///< sent more than once
    bool wanted = false;    ///< the stand-in waits for it, so it is not given to a device first
  };
  /// A result.
  struct kept {
    header head{};  ///< `none` as its operation: nothing
    std::array<std::byte, most_payload> bytes{};

    [[nodiscard]] std::span<std::byte const> data() const noexcept { return std::span(bytes).first(head.length); }
  };

  /// @pre slots is a power of two; called once, before all else
  void open(std::uint32_t slots) {
    slots_ = slots;
    pieces_.resize(2 * std::size_t{slots});
    kept_.resize(slots);
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
    base_ = next_;
    count_ = static_cast<std::uint32_t>((part.bytes + most_payload - 1) / most_payload);
    next_ += count_;
    front_ = sent_ = highest_ = 0;
    taken_ = held_ = 0;
    overtaken_ = {};
    present_ = {};
    has_bitmap_ = false;
    active_ = part.worker != no_rank && count_ != 0;
    from_ = nullptr;
    place_ = nullptr;
    std::fill_n(pieces_.begin(), std::min(std::size_t{count_}, pieces_.size()), piece{});
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
    for (std::uint32_t i = 0; i != std::min(highest_, count_); ++i) {
      if (at(i).done) {
        put(i);
      }
    }
  }
  /// What may be taken of the result now, of whole granules.
  [[nodiscard]] chunk view(std::size_t granule) noexcept {
    std::size_t there = std::min(std::size_t{front_} * most_payload, part_.bytes);
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

  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] std::uint32_t highest() const noexcept { return highest_; }
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  [[nodiscard]] piece& at(std::uint32_t i) noexcept { return pieces_[i & (pieces_.size() - 1)]; }
  [[nodiscard]] piece const& at(std::uint32_t i) const noexcept { return pieces_[i & (pieces_.size() - 1)]; }

  /// Whether piece i may be sent for the first time: its slot has been left.
  [[nodiscard]] bool may_send(std::uint32_t i) noexcept {
    return i < count_ && i < front_ + slots_ + slots_ && (i < slots_ || i - slots_ < front_ || at(i - slots_).done);
  }
  void count_sent(std::uint32_t i) noexcept { sent_ = std::max(sent_, i + 1); }
  /// The stand-in waits for a piece that has not been sent yet.
  void want_at_stand_in(std::uint32_t sequence) noexcept {
    std::uint32_t const i = sequence - base_;
    if (active_ && i >= sent_ && i < count_ && i - front_ < pieces_.size()) {
      at(i).wanted = true;
    }
  }

  [[nodiscard]] header head_of(kind k, std::uint32_t i, std::uint32_t lane) const noexcept {
    std::uint32_t const q = base_ + i;
    bool const in_order = combines(part_.operation) && part_.workers.size() <= most_workers_in_order;
    header h{.kind = k,
             .operation = part_.operation,
             .sequence = q,
             .fingerprint = fingerprint_,
             .slot = static_cast<std::uint16_t>(lane * slots_ + (q & (slots_ - 1))),
             .worker = static_cast<std::uint8_t>(part_.worker),
             .workers = static_cast<std::uint8_t>(part_.workers.size())};
    h.flags =
        static_cast<std::uint16_t>(((q / slots_ & 1U) != 0 ? flag::phase : 0) | (in_order ? flag::in_rank_order : 0) |
                                   (mine().gives && copies() ? flag::no_data : 0));
    return h;
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
    std::span<std::byte const> const all = mine().gives && copies() ? content(i) : data;
    k.head.length = static_cast<std::uint16_t>(all.size());
    if (!all.empty()) {
      std::memcpy(k.bytes.data(), all.data(), all.size());
    }
    at(i).done = true;
    highest_ = std::max(highest_, i + 1);
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

  /// A piece that was sent at that time has its result: those that were sent before are late.
  void overtake(time_point sent) noexcept { overtaken_ = std::max(overtaken_, sent); }
  [[nodiscard]] time_point overtaken() const noexcept { return overtaken_; }

  // --- the workers that are missing

  /// Those that have contributed to the oldest piece that is under way, as a server says.
  void hear(worker_set const& present) noexcept {
    present_ = present;
    has_bitmap_ = true;
  }
  /// Calls f(rank) for the other workers whose contributions are missing, if that is known. (Its own is under way.)
  template <class F>
  void each_missing(F f) const {
    for (std::size_t w = 0; has_bitmap_ && w != part_.workers.size(); ++w) {
      if (w != part_.worker && !present_.has(static_cast<unsigned>(w))) {
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
  [[nodiscard]] std::size_t length(std::uint32_t i) const noexcept {
    return std::min(most_payload, part_.bytes - offset(i));
  }
  [[nodiscard]] helper_worker const& mine() const noexcept { return part_.workers[part_.worker]; }
  [[nodiscard]] bool copies() const noexcept { return part_.operation == network_operation::copy; }
  [[nodiscard]] static std::size_t offset(std::uint32_t i) noexcept { return std::size_t{i} * most_payload; }

  /// Copies a result that is kept to where it is wanted.
  void put(std::uint32_t i) noexcept {
    if (kept const* const k = find_kept(base_ + i)) {
      std::memcpy(place_ + offset(i), k->bytes.data(), k->head.length);
    }
  }

  std::uint32_t slots_ = 0;
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
  std::size_t taken_ = 0;
  std::size_t held_ = 0;
  worker_set present_{};
  bool has_bitmap_ = false;
  std::vector<piece> pieces_;  ///< of those from `front_` on
  std::vector<kept> kept_;
};

}  // namespace tutti::detail::fpga_nic
