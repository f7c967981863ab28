// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/verbs/detail/edge_note.hpp>
#include <tutti/verbs/detail/lane_ends.hpp>
#include <tutti/verbs/detail/peer_calls.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

namespace tutti::inline v0_1_0::detail::verbs {

/// What a rank has to do with one peer: a connection, slots for short messages both ways, and lanes.
///
/// A slot of the peer's is free again when the peer has released its message. Each message tells how many of its lane
/// its sender has released by then, and where half of them are owed, or the peer waits for its buffer, a message of its
/// own does. What can come so is bounded, and there is a posted receive for all of it.
class edge {
 public:
  /// How many of its work requests can complete before this rank looks.
  static constexpr std::uint64_t most_completions = receives + queue_pair::depth;

  /// @param memory what `memory_for_one` gives
  edge(registrar& r, completions const& c, rank_type self, rank_type peer, registered_memory memory)
      : registrar_(&r),
        self_(self),
        peer_(peer),
        memory_(std::move(memory)),
        queue_(r.on(), c, peer),
        calls_(memory_.begin() + receive_bytes + send_bytes, memory_.key()) {
    for (std::uint32_t slot = 0; slot < receives; ++slot) {
      receive(slot);
    }
  }
  [[nodiscard]] static registered_memory memory_for_one(device const& d) { return {d, memory_bytes}; }

  // --- the way to the other end, which is told by notes

  [[nodiscard]] edge_note note() const noexcept {
    return {.queue_pair = queue_.number(),
            .sent = queue_.sent(),
            .ready = static_cast<std::uint16_t>(connected_),
            .left = static_cast<std::uint16_t>(leaves_)};
  }
  /// Whether the other end has yet to be told of a change.
  [[nodiscard]] bool owes_note() const noexcept { return owes_note_; }
  void told_note() noexcept { owes_note_ = false; }
  /// @throws error(failure::join) that names both ends
  void hear(edge_note const& n, card const& mine, card const& theirs, verbs_options const& o) {
    if (!connected_ && n.left == 0) {
      queue_.connect(registrar_->on(), mine, theirs, n.queue_pair, o);
      calls_.lie_at(theirs);
      longest_ = (std::min)(mine.longest, theirs.longest);
      piece_ = std::min<std::size_t>(o.piece, longest_);
      connected_ = owes_note_ = true;
    }
    ready_ = ready_ || (connected_ && n.ready != 0);
    left_ = n.left != 0;
    to_come_ = n.sent;
  }
  /// Nothing more is sent.
  void leave() noexcept { leaves_ = owes_note_ = true; }

  /// Both ends can send.
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  /// The other end sends nothing more.
  [[nodiscard]] bool left() const noexcept { return left_; }
  /// Nothing more comes.
  [[nodiscard]] bool gone() const noexcept { return queue_.broken() || (left_ && received_ == to_come_); }

  [[nodiscard]] queue_pair& queue() noexcept { return queue_; }
  [[nodiscard]] queue_pair const& queue() const noexcept { return queue_; }
  /// The peer has sent what no rank sends.
  [[nodiscard]] bool unsound() const noexcept { return unsound_; }

  /// Whether a message can be sent now.
  [[nodiscard]] bool has_room(std::uint32_t lane) const noexcept { return out_[lane].has_room(); }
  [[nodiscard]] sent send(flow s, std::uint32_t check, std::span<std::byte const> bytes) {
    outgoing& o = out_[s.lane];
    message_head h{.kind = head_kind::message, .lane = static_cast<std::uint8_t>(s.lane)};
    h.check = check;
    if (!has_room(s.lane)) {
      return {};
    }
    if (bytes.size() < read_from) {
      if (!post(h, bytes)) {
        return {};
      }
      ++o.number;
      return {true, bytes.size(), 0};
    }
    h.kind = head_kind::long_message;
    return send_place(h, bytes, {});
  }
  /// Whether it is better that the peer writes that much than that this rank reads it.
  [[nodiscard]] bool may_lend(std::size_t bytes) const noexcept {
    return bytes >= read_from && bytes <= (std::min)(most_lent, longest_);
  }
  /// Sends a long message whose receiver may write what it makes of it to `back`. @pre may_lend(bytes.size())
  [[nodiscard]] sent lend(flow s, std::uint32_t check, std::span<std::byte const> bytes, std::byte* back) {
    message_head h{.kind = head_kind::lent_message, .lane = static_cast<std::uint8_t>(s.lane)};
    h.check = check;
    if (!has_room(s.lane)) {
      return {};
    }
    room& r = out_[s.lane].back;
    r = {back, bytes.size(), check, registrar_->take(back, bytes.size(), access::written_by_peers)};
    lent_room const at{reinterpret_cast<std::uintptr_t>(back), r.registered->remote_key()};
    sent const result = send_place(h, bytes, std::as_bytes(std::span(&at, 1)));
    if (!result.accepted) {
      r = {};
    }
    return result;
  }
  /// Whether the peer has lent room for that many bytes in this flow, and has not got them back.
  [[nodiscard]] bool holds(flow s, std::size_t bytes) const noexcept {
    loan const& l = in_[s.lane].lent;
    return l.bytes == bytes && bytes != 0 && l.number == s.number;
  }
  /// Writes them there. @pre holds(s, bytes.size())
  [[nodiscard]] sent give_back(flow s, std::span<std::byte const> bytes) {
    outgoing& o = out_[s.lane];
    incoming& in = in_[s.lane];
    if (!has_room(s.lane)) {
      return {};
    }
    lease& memory = o.in_place[o.number % slot_count];
    memory = registrar_->take(bytes.data(), bytes.size(), access::read_here);
    ibv_sge part{reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
                 memory->local_key()};
    return_note const note{s.lane, static_cast<std::uint16_t>(in.released)};
    ibv_send_wr w{};
    w.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    w.imm_data = htonl(note.pack());
    w.sg_list = &part;
    w.num_sge = 1;
    w.wr.rdma.remote_addr = in.lent.at.address;
    w.wr.rdma.rkey = in.lent.at.key;
    if (!queue_.post(w, work::send, s.lane)) {
      memory.reset();
      return {};
    }
    in.told = in.released;
    in.lent = {};
    o.last_in_place = ++o.number;
    return {true, bytes.size(), o.number};
  }
  [[nodiscard]] bool released(std::uint32_t lane, ticket k) const noexcept { return out_[lane].released >= k; }
  /// Whether the peer has yet to read a message of this rank, or to give one back.
  [[nodiscard]] bool is_in_use() const noexcept {
    return std::any_of(out_, out_ + lane_count, [](outgoing const& o) { return o.is_in_use(); });
  }

  [[nodiscard]] bool has_message(std::uint32_t lane) const noexcept { return in_[lane].count != 0; }
  /// @pre has_message
  /// @throws error(failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(flow s, wanted const& w, std::uint32_t check, call const& mine, piece_pool& pool) {
    incoming& i = in_[s.lane];
    arrival const& a = i.oldest();
    if (a.is_back) {
      room const& r = out_[s.lane].back;
      return r.check == check && r.bytes <= w.bytes ? chunk{r.place, r.bytes}
                                                    : differ(s, w, r.check, r.bytes, check, mine);
    }
    auto const h = read_at<message_head>(head_at(a.slot));
    message_place const place =
        h.kind == head_kind::message ? message_place{a.bytes, 0, 0} : read_at<message_place>(body_at(a.slot));
    if (h.check != check || place.bytes - i.reading.given() > w.bytes) [[unlikely]] {
      return differ(s, w, h.check, place.bytes, check, mine);
    }
    if (h.kind == head_kind::message) {
      return {body_at(a.slot), a.bytes};
    }
    if (!i.reading.active()) {
      i.reading.begin(*registrar_, pool, place, w, piece_);
      if (h.kind == head_kind::lent_message) {
        i.lent = {read_at<lent_room>(body_at(a.slot) + sizeof place), place.bytes, s.number};
      }
    }
    i.reading.ask(queue_, s.lane);
    return i.reading.next();
  }
  void release(std::uint32_t lane, piece_pool& pool) noexcept {
    incoming& i = in_[lane];
    if (i.count == 0) {
      return;
    }
    bool const pulled = i.reading.active();
    if (pulled && !i.reading.release(pool)) {
      i.reading.ask(queue_, lane);
      return;
    }
    arrival const& a = i.oldest();
    bool const is_back = a.is_back;
    if (is_back) {
      out_[lane].back = {};
    }
    receive(a.slot);
    ++i.first;
    --i.count;
    ++i.released;
    if (pulled || is_back || i.released - i.told >= slot_count / 2) {
      tell_released(lane);
    }
  }
  /// Says what could not be said before. True if there is still something left.
  bool tell_all_released() noexcept {
    bool left = false;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      if (in_[lane].owes) {
        tell_released(lane);
        left = left || in_[lane].owes;
      }
    }
    owes_ = left;
    return left;
  }
  [[nodiscard]] bool owes() const noexcept { return owes_; }

  /// A work request of this edge has ended.
  void complete(work_id const& id, ibv_wc const& c) noexcept {
    bool const good = c.status == IBV_WC_SUCCESS;
    if (id.kind == work::receive) {
      if (good) {
        ++received_;
        c.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? take_back_in(id.number, return_note::unpack(ntohl(c.imm_data)))
                                              : take_in(id.number, c.byte_len);
      } else {
        queue_.fail(c.status);
      }
      return;
    }
    queue_.complete(id, c.status);
    if (id.kind == work::question) {
      calls_.complete(id.lane, good);
    } else if (id.kind == work::read && good) {
      in_[id.lane].reading.arrive();
    }
  }

  /// Takes back what the peer and the device could work in. Only when nothing is under way.
  void take_back(piece_pool& pool) noexcept {
    for (outgoing& o : out_) {
      o.take_back();
    }
    for (incoming& i : in_) {
      i.reading.end(pool);
    }
  }

 private:
  static constexpr std::size_t body_offset = registered_memory::alignment;
  static constexpr std::size_t receive_bytes = receives * slot_bytes + body_offset;
  static constexpr std::size_t send_bytes = std::size_t{lane_count} * slot_count * slot_bytes;
  static constexpr std::size_t memory_bytes = receive_bytes + send_bytes + sizeof(call_board);

  /// What follows the head of a slot is aligned.
  [[nodiscard]] std::byte* body_at(std::uint32_t slot) const noexcept {
    return memory_.begin() + body_offset + slot * slot_bytes;
  }
  [[nodiscard]] std::byte* head_at(std::uint32_t slot) const noexcept { return body_at(slot) - sizeof(message_head); }
  void receive(std::uint32_t slot) noexcept { queue_.post_receive(head_at(slot), memory_.key(), slot); }

  /// Sends where a long message lies, and what follows that.
  sent send_place(message_head const& h, std::span<std::byte const> bytes, std::span<std::byte const> more) {
    outgoing& o = out_[h.lane];
    lease& memory = o.in_place[o.number % slot_count];
    memory = registrar_->take(bytes.data(), bytes.size(), access::read_by_peers);
    message_place const at{bytes.size(), reinterpret_cast<std::uintptr_t>(bytes.data()), memory->remote_key()};
    std::byte body[sizeof at + sizeof(lent_room)];
    std::memcpy(body, &at, sizeof at);
    if (!more.empty()) {
      std::memcpy(body + sizeof at, more.data(), more.size());
    }
    if (!post(h, std::span<std::byte const>(body, sizeof at + more.size()))) {
      memory.reset();
      return {};
    }
    o.last_in_place = ++o.number;
    return {true, bytes.size(), o.number};
  }
  /// Sends a head, with what has been released of its lane by now, and what follows it.
  bool post(message_head h, std::span<std::byte const> bytes) noexcept {
    incoming& back = in_[h.lane];
    h.released = static_cast<std::uint16_t>(back.released);
    ibv_sge part[2] = {{reinterpret_cast<std::uintptr_t>(&h), sizeof h, 0},
                       {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0}};
    ibv_send_wr w{};
    w.opcode = IBV_WR_SEND;
    w.sg_list = part;
    w.num_sge = bytes.empty() ? 1 : 2;
    if (sizeof h + bytes.size() <= queue_.copies()) {
      w.send_flags = IBV_SEND_INLINE;
    } else {
      // Free: the message that was there has been released.
      std::byte* const at =
          memory_.begin() + receive_bytes + (h.lane * slot_count + out_[h.lane].number % slot_count) * slot_bytes;
      std::memcpy(at, &h, sizeof h);
      std::memcpy(at + sizeof h, bytes.data(), bytes.size());  // not empty: a head alone is copied by the device
      part[0] = {reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(sizeof h + bytes.size()),
                 memory_.key()};
      w.num_sge = 1;
    }
    if (!queue_.post(w, work::send, h.lane)) {
      return false;
    }
    back.told = back.released;
    return true;
  }
  void tell_released(std::uint32_t lane) noexcept {
    in_[lane].owes = !gone() && !post({.kind = head_kind::released, .lane = static_cast<std::uint8_t>(lane)}, {});
    owes_ = owes_ || in_[lane].owes;
  }

  void take_in(std::uint32_t slot, std::uint32_t length) noexcept {
    auto const h = read_at<message_head>(head_at(slot));
    bool const carries = h.kind != head_kind::released;
    if (length < sizeof h || h.lane >= lane_count || !is_sound(h.kind, body_at(slot), length - sizeof h) ||
        (carries && in_[h.lane].count == slot_count)) {
      unsound_ = true;
      return;
    }
    unsound_ = unsound_ || !out_[h.lane].take_released(h.released);
    if (carries) {
      in_[h.lane].add({slot, static_cast<std::uint32_t>(length - sizeof h), false});
    } else {
      receive(slot);
    }
  }

  /// What was lent has been written to.
  void take_back_in(std::uint32_t slot, return_note const& n) noexcept {
    bool const is_known = n.lane < lane_count && out_[n.lane].back.place != nullptr && in_[n.lane].count != slot_count;
    if (!is_known) {
      unsound_ = true;
      return;
    }
    unsound_ = unsound_ || !out_[n.lane].take_released(n.released);
    in_[n.lane].add({slot, 0, true});
  }
  /// The message is another than the one that is expected.
  chunk differ(flow s, wanted const& w, std::uint32_t theirs, std::size_t bytes, std::uint32_t check,
               call const& mine) {
    if (s.lane == transfer_lane) {
      throw messages_differ(self_, peer_);
    }
    if (theirs == check) {
      throw calls_differ(self_, message({peer_calls::text(mine, s), ", with a message of ", w.bytes, " bytes"}), peer_,
                         message({peer_calls::text(mine, s), ", with one of ", bytes}));
    }
    if (gone() || calls_.are_known(queue_, s.lane)) {
      throw calls_differ(self_, peer_calls::text(mine, s), peer_, calls_.describe(s.lane, theirs));
    }
    return {};
  }

  registrar* registrar_ = nullptr;
  rank_type self_ = 0;
  rank_type peer_ = 0;
  registered_memory memory_;  ///< receive slots, send slots, and the answer to a question
  queue_pair queue_;
  outgoing out_[lane_count];
  incoming in_[lane_count];
  std::size_t longest_ = 0;  ///< that a work request may be
  std::size_t piece_ = 0;
  peer_calls calls_;
  bool owes_ = false;
  bool unsound_ = false;
  bool connected_ = false;
  bool ready_ = false;
  bool leaves_ = false;
  bool left_ = false;
  bool owes_note_ = true;
  std::uint32_t received_ = 0;  ///< messages
  std::uint32_t to_come_ = 0;   ///< how many that will be when the peer has left
};

}  // namespace tutti::detail::verbs
