// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/verbs/detail/connection_note.hpp>
#include <tutti/verbs/detail/lane_state.hpp>
#include <tutti/verbs/detail/peer_calls.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

namespace tutti::inline v0_1_0::detail::verbs {

/// The connection to one peer: a queue pair, slots for short messages both ways, and lanes.
///
/// Flow control: a lane has `slot_count` credits, one for each message that its receiver has not released. Every
/// message carries the number of messages that its sender has released on that lane. A message of its own returns
/// credits when half of them are pending, or when the peer waits for its buffer. The number of such messages is
/// bounded, and a receive is posted for each.
///
///    sender                                        receiver
///    eager:      head + bytes  ------------------> slot; `view` shows the slot
///    rendezvous: head + place  ------------------> `view` posts READs of pieces, several under way
///                buffer        <------ READ -----
///                lease ends    <----- credits ---- `release` of the last piece
///    loan:       head + place + return place ----> READ, combine
///                return buffer <-- WRITE with immediate (lane, credits) --- `give_back`
class connection {
 public:
  /// Work requests that can complete between two polls.
  static constexpr std::uint64_t max_completions = receive_count + queue_pair::depth;

  /// @param memory made by `allocate_memory`
  connection(registrar& memory_registrar, completions const& completion_queue, rank_type self, rank_type peer,
             registered_memory memory)
      : registrar_(&memory_registrar),
        self_(self),
        peer_(peer),
        memory_(std::move(memory)),
        queue_(memory_registrar.rdma_device(), completion_queue, peer),
        calls_(memory_.begin() + receive_bytes + send_bytes, memory_.key()) {
    for (std::uint32_t slot = 0; slot < receive_count; ++slot) {
      receive(slot);
    }
  }
  [[nodiscard]] static registered_memory allocate_memory(device const& rdma_device) {
    return {rdma_device, memory_bytes};
  }

  // --- connecting, by notes over the control socket

  [[nodiscard]] connection_note note() const noexcept {
    return {.queue_pair = queue_.number(),
            .sent_count = queue_.sent_count(),
            .ready = static_cast<std::uint16_t>(is_connected_),
            .left = static_cast<std::uint16_t>(leaving_)};
  }
  /// True if a change has not been sent to the peer yet.
  [[nodiscard]] bool has_pending_note() const noexcept { return note_pending_; }
  void mark_note_sent() noexcept { note_pending_ = false; }
  /// Handles a note of the peer; the first one connects the queue pair.
  /// @throws error(failure::join) that names both ends
  void receive_note(connection_note const& n, endpoint_info const& local_info, endpoint_info const& peer_info,
                    verbs_options const& options) {
    if (!is_connected_ && n.left == 0) {
      queue_.connect(registrar_->rdma_device(), local_info, peer_info, n.queue_pair, options);
      calls_.set_source(peer_info);
      max_message_ = (std::min)(local_info.max_message, peer_info.max_message);
      piece_ = std::min<std::size_t>(options.piece, max_message_);
      is_connected_ = note_pending_ = true;
    }
    ready_ = ready_ || (is_connected_ && n.ready != 0);
    peer_left_ = n.left != 0;
    expected_count_ = n.sent_count;
  }
  /// Announces that this rank sends nothing more.
  void leave() noexcept { leaving_ = note_pending_ = true; }

  /// True if both ends can send.
  [[nodiscard]] bool is_ready() const noexcept { return ready_; }
  /// True if the peer sends nothing more.
  [[nodiscard]] bool peer_has_left() const noexcept { return peer_left_; }
  /// True if nothing more arrives.
  [[nodiscard]] bool is_finished() const noexcept {
    return queue_.is_broken() || (peer_left_ && received_count_ == expected_count_);
  }

  [[nodiscard]] queue_pair& queue() noexcept { return queue_; }
  [[nodiscard]] queue_pair const& queue() const noexcept { return queue_; }
  /// True if the peer has violated the protocol.
  [[nodiscard]] bool has_violated_protocol() const noexcept { return protocol_violated_; }

  /// True if the lane has a credit for a message.
  [[nodiscard]] bool has_room(std::uint32_t lane) const noexcept { return outgoing_[lane].has_room(); }
  [[nodiscard]] send_result send(flow s, std::uint32_t check, std::span<std::byte const> bytes) {
    outgoing& output = outgoing_[s.lane];
    message_head h{.kind = head_kind::message, .lane = static_cast<std::uint8_t>(s.lane)};
    h.check = check;
    if (!has_room(s.lane)) {
      return {};
    }
    if (bytes.size() < rendezvous_threshold) {
      if (!post(h, bytes)) {
        return {};
      }
      ++output.number;
      return {true, bytes.size(), 0};
    }
    h.kind = head_kind::long_message;
    return send_place(h, bytes, {});
  }
  /// True if a WRITE by the peer is cheaper than a READ by this rank, for a result of this size.
  [[nodiscard]] bool may_lend(std::size_t bytes) const noexcept {
    return bytes >= rendezvous_threshold && bytes <= (std::min)(max_loan, max_message_);
  }
  /// Sends a long message, whose receiver may write its result to `back`. @pre may_lend(bytes.size())
  [[nodiscard]] send_result lend(flow s, std::uint32_t check, std::span<std::byte const> bytes, std::byte* back) {
    message_head h{.kind = head_kind::lent_message, .lane = static_cast<std::uint8_t>(s.lane)};
    h.check = check;
    if (!has_room(s.lane)) {
      return {};
    }
    return_buffer& r = outgoing_[s.lane].expected_result;
    r = {back, bytes.size(), check, registrar_->lease_for(back, bytes.size(), access::remote_write)};
    return_place const at{reinterpret_cast<std::uintptr_t>(back), r.memory_lease->remote_key()};
    send_result const result = send_place(h, bytes, std::as_bytes(std::span(&at, 1)));
    if (!result.is_accepted) {
      r = {};
    }
    return result;
  }
  /// True if the peer has lent a place for this many bytes in this flow, and has no result yet.
  [[nodiscard]] bool has_loan(flow s, std::size_t bytes) const noexcept {
    loan const& l = incoming_[s.lane].peer_loan;
    return l.bytes == bytes && bytes != 0 && l.number == s.number;
  }
  /// Writes a result to the place that the peer lent. @pre has_loan(s, bytes.size())
  [[nodiscard]] send_result give_back(flow s, std::span<std::byte const> bytes) {
    outgoing& output = outgoing_[s.lane];
    incoming& incoming_lane = incoming_[s.lane];
    if (!has_room(s.lane)) {
      return {};
    }
    lease& memory = output.leases[output.number % slot_count];
    memory = registrar_->lease_for(bytes.data(), bytes.size(), access::local_read);
    ibv_sge part{reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
                 memory->local_key()};
    return_note const note{s.lane, static_cast<std::uint16_t>(incoming_lane.released_count)};
    ibv_send_wr work_request{};
    work_request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    work_request.imm_data = htonl(note.pack());
    work_request.sg_list = &part;
    work_request.num_sge = 1;
    work_request.wr.rdma.remote_addr = incoming_lane.peer_loan.at.address;
    work_request.wr.rdma.rkey = incoming_lane.peer_loan.at.key;
    if (!queue_.post(work_request, work::send, s.lane)) {
      memory.reset();
      return {};
    }
    incoming_lane.returned_credits = incoming_lane.released_count;
    incoming_lane.peer_loan = {};
    output.last_long = ++output.number;
    return {true, bytes.size(), output.number};
  }
  [[nodiscard]] bool is_released(std::uint32_t lane, ticket release_ticket) const noexcept {
    return outgoing_[lane].released_count >= release_ticket;
  }
  /// True if the peer has yet to read a message of this rank, or to return a loan.
  [[nodiscard]] bool is_in_use() const noexcept {
    return std::any_of(outgoing_, outgoing_ + lane_count, [](outgoing const& output) { return output.is_in_use(); });
  }

  [[nodiscard]] bool has_message(std::uint32_t lane) const noexcept { return incoming_[lane].count != 0; }
  /// @pre has_message
  /// @throws error(failure::mismatch) that shows both calls
  [[nodiscard]] chunk view(flow s, receive_request const& request, std::uint32_t check, call const& local_call,
                           piece_pool& pool) {
    incoming& input = incoming_[s.lane];
    arrival const& message = input.oldest();
    if (message.is_result) {
      return_buffer const& r = outgoing_[s.lane].expected_result;
      return r.check == check && r.bytes <= request.bytes
                 ? chunk{r.place, r.bytes}
                 : report_mismatch(s, request, r.check, r.bytes, check, local_call);
    }
    auto const h = read_at<message_head>(head_at(message.slot));
    message_place const place = h.kind == head_kind::message ? message_place{message.bytes, 0, 0}
                                                             : read_at<message_place>(body_at(message.slot));
    if (h.check != check || place.bytes - input.reader.consumed_bytes() > request.bytes) [[unlikely]] {
      return report_mismatch(s, request, h.check, place.bytes, check, local_call);
    }
    if (h.kind == head_kind::message) {
      return {body_at(message.slot), message.bytes};
    }
    if (!input.reader.is_active()) {
      input.reader.begin(*registrar_, pool, place, request, piece_);
      if (h.kind == head_kind::lent_message) {
        input.peer_loan = {read_at<return_place>(body_at(message.slot) + sizeof place), place.bytes, s.number};
      }
    }
    input.reader.request(queue_, s.lane);
    return input.reader.next();
  }
  void release(std::uint32_t lane, piece_pool& pool) noexcept {
    incoming& input = incoming_[lane];
    if (input.count == 0) {
      return;
    }
    bool const was_rendezvous = input.reader.is_active();
    if (was_rendezvous && !input.reader.release(pool)) {
      input.reader.request(queue_, lane);
      return;
    }
    arrival const& message = input.oldest();
    bool const is_result = message.is_result;
    if (is_result) {
      outgoing_[lane].expected_result = {};
    }
    receive(message.slot);
    ++input.first;
    --input.count;
    ++input.released_count;
    if (was_rendezvous || is_result || input.released_count - input.returned_credits >= slot_count / 2) {
      return_credit(lane);
    }
  }
  /// Returns credits that could not be sent before. True if some remain.
  bool return_pending_credits() noexcept {
    bool left = false;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      if (incoming_[lane].credit_pending) {
        return_credit(lane);
        left = left || incoming_[lane].credit_pending;
      }
    }
    credits_pending_ = left;
    return left;
  }
  [[nodiscard]] bool has_pending_credits() const noexcept { return credits_pending_; }

  /// Handles the completion of a work request.
  void complete(work_id const& id, ibv_wc const& completion) noexcept {
    bool const good = completion.status == IBV_WC_SUCCESS;
    if (id.kind == work::receive) {
      if (good) {
        ++received_count_;
        completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM
            ? accept_result(id.number, return_note::unpack(ntohl(completion.imm_data)))
            : accept_message(id.number, completion.byte_len);
      } else {
        queue_.fail(completion.status);
      }
      return;
    }
    queue_.complete(id, completion.status);
    if (id.kind == work::question) {
      calls_.complete(id.lane, good);
    } else if (id.kind == work::read && good) {
      incoming_[id.lane].reader.arrive();
    }
  }

  /// Ends all registrations of messages and loans. @pre nothing is under way
  void reclaim(piece_pool& pool) noexcept {
    for (outgoing& output : outgoing_) {
      output.reclaim();
    }
    for (incoming& input : incoming_) {
      input.reader.end(pool);
    }
  }

 private:
  static constexpr std::size_t body_offset = registered_memory::alignment;
  static constexpr std::size_t receive_bytes = receive_count * slot_bytes + body_offset;
  static constexpr std::size_t send_bytes = std::size_t{lane_count} * slot_count * slot_bytes;
  static constexpr std::size_t memory_bytes = receive_bytes + send_bytes + sizeof(call_board);

  /// Address of the bytes behind the head of a slot; aligned.
  [[nodiscard]] std::byte* body_at(std::uint32_t slot) const noexcept {
    return memory_.begin() + body_offset + slot * slot_bytes;
  }
  [[nodiscard]] std::byte* head_at(std::uint32_t slot) const noexcept { return body_at(slot) - sizeof(message_head); }
  void receive(std::uint32_t slot) noexcept { queue_.post_receive(head_at(slot), memory_.key(), slot); }

  /// Sends the place of a long message, and `more` behind it.
  send_result send_place(message_head const& h, std::span<std::byte const> bytes, std::span<std::byte const> more) {
    outgoing& output = outgoing_[h.lane];
    lease& memory = output.leases[output.number % slot_count];
    memory = registrar_->lease_for(bytes.data(), bytes.size(), access::remote_read);
    message_place const at{bytes.size(), reinterpret_cast<std::uintptr_t>(bytes.data()), memory->remote_key()};
    std::byte body[sizeof at + sizeof(return_place)];
    std::memcpy(body, &at, sizeof at);
    if (!more.empty()) {
      std::memcpy(body + sizeof at, more.data(), more.size());
    }
    if (!post(h, std::span<std::byte const>(body, sizeof at + more.size()))) {
      memory.reset();
      return {};
    }
    output.last_long = ++output.number;
    return {true, bytes.size(), output.number};
  }
  /// Sends a head, with the credits of its lane, and a body.
  bool post(message_head h, std::span<std::byte const> bytes) noexcept {
    incoming& back = incoming_[h.lane];
    h.released_count = static_cast<std::uint16_t>(back.released_count);
    ibv_sge part[2] = {{reinterpret_cast<std::uintptr_t>(&h), sizeof h, 0},
                       {reinterpret_cast<std::uintptr_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()), 0}};
    ibv_send_wr work_request{};
    work_request.opcode = IBV_WR_SEND;
    work_request.sg_list = part;
    work_request.num_sge = bytes.empty() ? 1 : 2;
    if (sizeof h + bytes.size() <= queue_.inline_limit()) {
      work_request.send_flags = IBV_SEND_INLINE;
    } else {
      // The send slot is free: its last message has been released.
      std::byte* const at =
          memory_.begin() + receive_bytes + (h.lane * slot_count + outgoing_[h.lane].number % slot_count) * slot_bytes;
      std::memcpy(at, &h, sizeof h);
      std::memcpy(at + sizeof h, bytes.data(), bytes.size());  // the body is not empty: a head alone is sent inline
      part[0] = {reinterpret_cast<std::uintptr_t>(at), static_cast<std::uint32_t>(sizeof h + bytes.size()),
                 memory_.key()};
      work_request.num_sge = 1;
    }
    if (!queue_.post(work_request, work::send, h.lane)) {
      return false;
    }
    back.returned_credits = back.released_count;
    return true;
  }
  void return_credit(std::uint32_t lane) noexcept {
    incoming_[lane].credit_pending =
        !is_finished() && !post({.kind = head_kind::credit, .lane = static_cast<std::uint8_t>(lane)}, {});
    credits_pending_ = credits_pending_ || incoming_[lane].credit_pending;
  }

  void accept_message(std::uint32_t slot, std::uint32_t length) noexcept {
    auto const h = read_at<message_head>(head_at(slot));
    bool const carries = h.kind != head_kind::credit;
    if (length < sizeof h || h.lane >= lane_count || !is_well_formed(h.kind, body_at(slot), length - sizeof h) ||
        (carries && incoming_[h.lane].count == slot_count)) {
      protocol_violated_ = true;
      return;
    }
    protocol_violated_ = protocol_violated_ || !outgoing_[h.lane].take_released(h.released_count);
    if (carries) {
      incoming_[h.lane].add({slot, static_cast<std::uint32_t>(length - sizeof h), false});
    } else {
      receive(slot);
    }
  }

  /// Handles the result of a loan.
  void accept_result(std::uint32_t slot, return_note const& n) noexcept {
    bool const is_known = n.lane < lane_count && outgoing_[n.lane].expected_result.place != nullptr &&
                          incoming_[n.lane].count != slot_count;
    if (!is_known) {
      protocol_violated_ = true;
      return;
    }
    protocol_violated_ = protocol_violated_ || !outgoing_[n.lane].take_released(n.released_count);
    incoming_[n.lane].add({slot, 0, true});
  }
  /// Reports that an arrived message is not the expected one. Returns an empty chunk until the peer's call is known.
  chunk report_mismatch(flow s, receive_request const& request, std::uint32_t peer_check, std::size_t bytes,
                        std::uint32_t check, call const& local_call) {
    if (s.lane == transfer_lane) {
      throw messages_differ(self_, peer_);
    }
    if (peer_check == check) {
      throw calls_differ(self_,
                         message({peer_calls::text(local_call, s), ", with a message of ", request.bytes, " bytes"}),
                         peer_, message({peer_calls::text(local_call, s), ", with one of ", bytes}));
    }
    if (is_finished() || calls_.has_answer(queue_, s.lane)) {
      throw calls_differ(self_, peer_calls::text(local_call, s), peer_, calls_.describe(s.lane, peer_check));
    }
    return {};
  }

  registrar* registrar_ = nullptr;
  rank_type self_ = 0;
  rank_type peer_ = 0;
  registered_memory memory_;  ///< receive slots, send slots, and the answer to a call query
  queue_pair queue_;
  outgoing outgoing_[lane_count];
  incoming incoming_[lane_count];
  std::size_t max_message_ = 0;  ///< longest message of a work request, in bytes
  std::size_t piece_ = 0;
  peer_calls calls_;
  bool credits_pending_ = false;
  bool protocol_violated_ = false;
  bool is_connected_ = false;
  bool ready_ = false;
  bool leaving_ = false;
  bool peer_left_ = false;
  bool note_pending_ = true;
  std::uint32_t received_count_ = 0;  ///< messages received
  std::uint32_t expected_count_ = 0;  ///< messages that the peer had sent when it left
};

}  // namespace tutti::detail::verbs
