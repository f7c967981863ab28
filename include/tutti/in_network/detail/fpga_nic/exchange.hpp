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

/// The server that has a piece of a message. A member that has moved a piece to the stand-in ignores the device's
/// result for it.
enum class server_kind : std::uint8_t { no_server, device, stand_in };

/// State of one lane of a member: one flow, divided into pieces of a packet each, and the last results.
///
/// Pieces are numbered by sequence, from one flow to the next, with equal numbers on all members. A slot may take
/// sequence q once the member has the result of q - slots. The results of that many pieces are saved, for members
/// that have lost them.
///
///     result of all pieces before `front`    in flight: [front, sent_count)     not sent yet
///     ---------------------------------------|------------------------------------|-----------> count
///     piece: no server -> device (contribute) -> complete     (result)
///                              -> stand-in    -> complete     (refused, or the device was given up)
class exchange {
 public:
  /// One packet's worth of a message.
  struct piece {
    time_point send_time{};
    time_point query_time{};  ///< first query of its server since that was last heard on this lane
    server_kind at = server_kind::no_server;
    std::uint8_t device_life = 0;  ///< `member_servers::device_life` of the device that has it
    bool is_complete = false;
    bool was_repeated = false;    ///< sent more than once
    bool was_queried = false;     ///< the last packet sent was a query
    bool stand_in_waits = false;  ///< the stand-in waits for this piece, so it must not go to a device first
  };
  /// A result that is saved for other members.
  struct saved_result {
    header head{};  ///< operation `none`: nothing saved
    std::array<std::byte, max_payload> bytes{};

    [[nodiscard]] std::span<std::byte const> data() const noexcept { return std::span(bytes).first(head.length); }
  };

  /// @pre the slots are a power of two; called once, before all else; the terms outlive this object
  void open(job_terms const& terms, rank_type me) {
    slots_ = terms.slot_count;
    racks_ = terms.has_racks() ? &terms.racks : nullptr;
    rack_ = racks_ != nullptr ? racks_->host(me) : 0;
    pieces_.resize(2 * std::size_t{slots_});
    saved_results_.resize(slots_);
  }

  /// Begins a flow, of a call with this fingerprint.
  void begin(flow s, std::uint32_t fingerprint) noexcept {
    drop();
    flow_ = s;
    fingerprint_ = fingerprint;
  }
  /// Sets this member's part of the flow. @pre at most one aggregator's part a flow
  void join_aggregation(aggregation_part const& part) {
    part_ = part;
    count_racks();
    first_sequence_ = next_sequence_;
    count_ = static_cast<std::uint32_t>((part.bytes + max_payload - 1) / max_payload);
    next_sequence_ += count_;
    front_ = sent_count_ = known_end_ = 0;
    consumed_bytes_ = viewed_bytes_ = 0;
    overtake_time_ = {};
    contributors_ = {};
    has_bitmap_ = false;
    active_ = part.worker != no_rank && count_ != 0;
    source_ = nullptr;
    target_ = nullptr;
    std::fill_n(pieces_.begin(), (std::min)(std::size_t{count_}, pieces_.size()), piece{});
  }
  /// Ends the flow: nothing is sent or received any more, and the user's memory is not accessed.
  void drop() noexcept {
    active_ = false;
    source_ = nullptr;
    target_ = nullptr;
    part_.workers = {};
    count_ = sent_count_ = front_;
  }

  // --- the user's side

  /// Sets the contribution, which is read until its results are complete.
  void set_source(std::byte const* source) noexcept { source_ = source; }
  /// Sets the place of the result, and copies earlier results there.
  void set_target(std::byte* target) {
    if (target_ != nullptr) {
      return;
    }
    target_ = target;
    for (std::uint32_t i = 0; i != (std::min)(known_end_, count_); ++i) {
      if (at(i).is_complete) {
        copy_saved(i);
      }
    }
  }
  /// The part of the result that may be consumed now, in whole granules.
  [[nodiscard]] chunk view(std::size_t granule) noexcept {
    std::size_t available = (std::min)(std::size_t{front_} * max_payload, part_.bytes);
    available -= available == part_.bytes ? 0 : available % granule;
    if (available <= consumed_bytes_) {
      return {};
    }
    viewed_bytes_ = available - consumed_bytes_;
    return {target_ + consumed_bytes_, viewed_bytes_};
  }
  void release() noexcept {
    consumed_bytes_ += viewed_bytes_;
    viewed_bytes_ = 0;
  }

  [[nodiscard]] flow current_flow() const noexcept { return flow_; }
  [[nodiscard]] aggregation_part const& part() const noexcept { return part_; }
  [[nodiscard]] std::size_t consumed_bytes() const noexcept { return consumed_bytes_; }
  [[nodiscard]] std::byte* target() const noexcept { return target_; }
  /// True if pieces may be sent: source and target are known, as far as this member has them.
  [[nodiscard]] bool is_ready() const noexcept {
    return active_ && (!own_worker().contributes || source_ != nullptr) &&
           (!own_worker().receives || target_ != nullptr);
  }
  [[nodiscard]] bool is_complete() const noexcept { return front_ == count_; }

  // --- packets

  [[nodiscard]] std::uint32_t slot_count() const noexcept { return slots_; }
  [[nodiscard]] std::uint32_t front() const noexcept { return front_; }
  [[nodiscard]] std::uint32_t known_end() const noexcept { return known_end_; }
  [[nodiscard]] std::uint32_t sent_count() const noexcept { return sent_count_; }
  [[nodiscard]] piece& at(std::uint32_t i) noexcept { return pieces_[i & (pieces_.size() - 1)]; }
  [[nodiscard]] piece const& at(std::uint32_t i) const noexcept { return pieces_[i & (pieces_.size() - 1)]; }

  /// True if piece i may be sent for the first time: its slot is free.
  [[nodiscard]] bool may_send(std::uint32_t i) noexcept {
    return i < count_ && i < front_ + slots_ + slots_ &&
           (i < slots_ || i - slots_ < front_ || at(i - slots_).is_complete);
  }
  void count_sent(std::uint32_t i) noexcept { sent_count_ = (std::max)(sent_count_, i + 1); }
  /// Notes that the stand-in waits for a piece that has not been sent yet.
  void note_stand_in_waits(std::uint32_t sequence) noexcept {
    std::uint32_t const i = sequence - first_sequence_;
    if (active_ && i >= sent_count_ && i < count_ && i - front_ < pieces_.size()) {
      at(i).stand_in_waits = true;
    }
  }

  [[nodiscard]] header head_of(kind k, std::uint32_t i, std::uint32_t lane, server_kind server) const noexcept {
    std::uint32_t const q = first_sequence_ + i;
    header h{.kind = k,
             .operation = part_.operation,
             .sequence = q,
             .fingerprint = fingerprint_,
             .slot = static_cast<std::uint16_t>(lane * slots_ + (q & (slots_ - 1)))};
    h.flags = static_cast<std::uint16_t>(((q / slots_ & 1U) != 0 ? flag::phase : 0) |
                                         (own_worker().contributes && copies() ? flag::no_data : 0));
    number(h, server);
    return h;
  }
  [[nodiscard]] std::uint32_t sequence_of(std::uint32_t i) const noexcept { return first_sequence_ + i; }
  /// True if devices can perform this operation. Devices of racks need a worker in each rack, and hold no weights.
  [[nodiscard]] bool is_for_devices() const noexcept {
    return racks_ == nullptr || (fills_racks_ && part_.operation != network_operation::update);
  }

  /// The rank that a server's packet names.
  [[nodiscard]] rank_type named_rank(header const& h, server_kind server) const noexcept {
    unsigned in_rack = 0;
    for (aggregation_worker const& worker : part_.workers) {
      bool const is_meant = !counts_by_rack(server) ? &worker == part_.workers.data() + h.worker
                            : h.has(flag::of_racks) ? racks_->host(worker.rank) == h.worker
                                                    : racks_->host(worker.rank) == rack_ && in_rack++ == h.worker;
      if (is_meant) {
        return worker.rank;
      }
    }
    return no_rank;
  }
  /// The workers that have contributed, according to a server's `missing` packet.
  [[nodiscard]] worker_set present(packet const& packet_seen, server_kind server) const noexcept {
    worker_set const bits = worker_set::read(packet_seen.payload, packet_seen.head.workers);
    if (!counts_by_rack(server)) {
      return bits;
    }
    bool const of_racks = packet_seen.head.has(flag::of_racks);
    worker_set workers;
    unsigned in_rack = 0;
    for (unsigned w = 0; w != part_.workers.size(); ++w) {
      rank_type const rack = racks_->host(part_.workers[w].rank);
      if (rack == rack_ ? of_racks || bits.has(in_rack++) : !of_racks || bits.has(rack)) {
        workers.add(w);
      }
    }
    return workers;
  }
  /// The elements of piece i; empty if this member contributes none.
  [[nodiscard]] std::span<std::byte const> content(std::uint32_t i) const noexcept {
    return own_worker().contributes ? std::span(source_ + offset(i), length(i)) : std::span<std::byte const>{};
  }
  /// Length of the result of piece i; 0 for a copy's giver, which has the result.
  [[nodiscard]] std::size_t result_bytes(std::uint32_t i) const noexcept {
    return own_worker().contributes && copies() ? 0 : length(i);
  }
  /// The piece of a sequence if it is in flight, or `no_piece`.
  [[nodiscard]] std::uint32_t piece_of(std::uint32_t sequence) const noexcept {
    std::uint32_t const i = sequence - first_sequence_;
    return active_ && i < count_ && i >= front_ && i < sent_count_ ? i : no_piece;
  }
  static constexpr std::uint32_t no_piece = UINT32_MAX;

  /// Takes the result of a piece. @pre the piece is in flight
  void finish(std::uint32_t i, header const& h, std::span<std::byte const> data) {
    saved_result& saved_piece = saved_results_[h.sequence & (slots_ - 1)];
    saved_piece.head = h;
    number(saved_piece.head, server_kind::stand_in);  // saved results are supplied to the stand-in
    std::span<std::byte const> const bytes = own_worker().contributes && copies() ? content(i) : data;
    saved_piece.head.length = static_cast<std::uint16_t>(bytes.size());
    if (!bytes.empty()) {
      std::memcpy(saved_piece.bytes.data(), bytes.data(), bytes.size());
    }
    at(i).is_complete = true;
    known_end_ = (std::max)(known_end_, i + 1);
    if (target_ != nullptr && own_worker().receives) {
      copy_saved(i);
    }
    while (front_ != count_ && front_ < known_end_ && at(front_).is_complete) {
      at(front_) = {};  // the entry serves the piece 2 x slots later
      ++front_;
      has_bitmap_ = false;
    }
  }
  [[nodiscard]] saved_result const* find_saved(std::uint32_t sequence) const noexcept {
    saved_result const& saved_piece = saved_results_[sequence & (slots_ - 1)];
    return saved_piece.head.operation != network_operation::none && saved_piece.head.sequence == sequence ? &saved_piece
                                                                                                          : nullptr;
  }

  /// Records that a server was heard on this lane.
  void hear_from(server_kind server, time_point now) noexcept { heard_times_[static_cast<std::size_t>(server)] = now; }
  /// Records a query about a piece. @pre the piece has been sent
  void note_query(std::uint32_t i, time_point now) noexcept {
    at(i).query_time = is_answer_due(i) ? at(i).query_time : now;
  }
  /// True if the server of a piece owes an answer on this lane. Other lanes do not count: the server may be a rack's
  /// switch, which answers some pieces by itself, and no pieces that need the device above it.
  [[nodiscard]] bool is_answer_due(std::uint32_t i) const noexcept {
    return at(i).query_time > heard_times_[static_cast<std::size_t>(at(i).at)];
  }
  /// True if an answer has been owed for this long.
  [[nodiscard]] bool is_silent(std::uint32_t i, time_point now, duration limit) const noexcept {
    return is_answer_due(i) && now - at(i).query_time >= limit;
  }

  /// Records that a piece sent at this time has its result: pieces sent before are late.
  void note_overtaking(time_point send_time) noexcept { overtake_time_ = (std::max)(overtake_time_, send_time); }
  [[nodiscard]] time_point overtake_time() const noexcept { return overtake_time_; }

  // --- missing workers

  /// Records the workers that have contributed to the oldest piece, according to a server.
  void note_present(worker_set const& present) noexcept {
    contributors_ = present;
    confirmations_ = has_bitmap_ ? confirmations_ : worker_set{};
    has_bitmap_ = true;
  }
  /// Forgets them: another server has the oldest piece now.
  void forget_present() noexcept { has_bitmap_ = false; }
  /// Records that a worker has confirmed its contribution to the oldest piece.
  void confirm(unsigned w) noexcept { confirmations_.add(w); }
  /// Calls f(rank) for the other workers whose contributions are missing, if known.
  template <class F>
  void each_missing(F f) const {
    for (std::size_t w = 0; has_bitmap_ && w != part_.workers.size(); ++w) {
      bool const is_there = contributors_.has(static_cast<unsigned>(w)) || confirmations_.has(static_cast<unsigned>(w));
      if (w != part_.worker && !is_there) {
        f(part_.workers[w].rank);
      }
    }
  }
  /// The first missing rank, or no_rank.
  [[nodiscard]] rank_type missing() const noexcept {
    rank_type first = no_rank;
    each_missing([&](rank_type r) { first = first == no_rank ? r : first; });
    return first;
  }

 private:
  [[nodiscard]] bool counts_by_rack(server_kind server) const noexcept {
    return racks_ != nullptr && server == server_kind::device;
  }
  /// Numbers the workers for a server: a rack's device sees those of its rack, the stand-in all of them, which it
  /// adds in order rack by rack.
  void number(header& h, server_kind server) const noexcept {
    bool const by_rack = counts_by_rack(server);
    std::size_t const workers = by_rack ? rack_workers_ : part_.workers.size();
    h.worker = static_cast<std::uint8_t>(by_rack ? rack_worker_ : part_.worker);
    h.workers = static_cast<std::uint8_t>(workers);
    bool const adds_in_order = workers <= max_workers_in_order || (racks_ != nullptr && !by_rack);
    h.flags = static_cast<std::uint16_t>((h.flags & ~flag::in_rank_order) |
                                         (combines(part_.operation) && adds_in_order ? flag::in_rank_order : 0));
  }
  void count_racks() noexcept {
    if (racks_ == nullptr) {
      return;
    }
    std::uint32_t filled_racks = 0;
    rack_workers_ = rack_worker_ = 0;
    for (rank_type w = 0; w != part_.workers.size(); ++w) {
      rank_type const rack = racks_->host(part_.workers[w].rank);
      filled_racks |= 1U << rack;
      rack_worker_ += rack == rack_ && w < part_.worker ? 1U : 0U;
      rack_workers_ += rack == rack_ ? 1U : 0U;
    }
    fills_racks_ = filled_racks + 1 == 1U << racks_->hosts();
  }

  [[nodiscard]] std::size_t length(std::uint32_t i) const noexcept {
    return (std::min)(max_payload, part_.bytes - offset(i));
  }
  [[nodiscard]] aggregation_worker const& own_worker() const noexcept { return part_.workers[part_.worker]; }
  [[nodiscard]] bool copies() const noexcept { return part_.operation == network_operation::copy; }
  [[nodiscard]] static std::size_t offset(std::uint32_t i) noexcept { return std::size_t{i} * max_payload; }

  void copy_saved(std::uint32_t i) noexcept {
    if (saved_result const* const saved_piece = find_saved(first_sequence_ + i)) {
      std::memcpy(target_ + offset(i), saved_piece->bytes.data(), saved_piece->head.length);
    }
  }

  std::uint32_t slots_ = 0;
  host_map const* racks_ = nullptr;  ///< null: there is one device
  rank_type rack_ = 0;               ///< rack of this member
  rank_type rack_worker_ = 0;        ///< index of this member among the workers of its rack
  rank_type rack_workers_ = 0;
  bool fills_racks_ = false;  ///< every rack has a worker
  flow flow_{};
  std::uint32_t fingerprint_ = 0;
  aggregation_part part_{};
  bool active_ = false;
  std::byte const* source_ = nullptr;
  std::byte* target_ = nullptr;
  std::uint32_t first_sequence_ = 0;  ///< sequence of the first piece
  std::uint32_t next_sequence_ = 0;   ///< sequence of the first piece of the next flow
  std::uint32_t count_ = 0;           ///< number of pieces
  std::uint32_t front_ = 0;           ///< number of pieces with a result, without a gap
  std::uint32_t sent_count_ = 0;      ///< number of pieces sent
  std::uint32_t known_end_ = 0;       ///< one more than the last piece with a result
  time_point overtake_time_{};
  std::array<time_point, 3> heard_times_{};  ///< by server
  std::size_t consumed_bytes_ = 0;
  std::size_t viewed_bytes_ = 0;
  worker_set contributors_{};
  worker_set confirmations_{};
  bool has_bitmap_ = false;
  std::vector<piece> pieces_;  ///< pieces from `front_` on
  std::vector<saved_result> saved_results_;
};

}  // namespace tutti::detail::fpga_nic
