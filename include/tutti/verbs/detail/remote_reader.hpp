// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/verbs/detail/queue_pair.hpp>
#include <tutti/verbs/detail/registrar.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// Registered buffers for pieces of messages, reused. Buffers that have become too small are freed.
class piece_pool {
 public:
  [[nodiscard]] registered_memory take(device const& rdma_device, std::size_t bytes) {
    while (!free_buffers_.empty()) {
      registered_memory last = std::move(free_buffers_.back());
      free_buffers_.pop_back();
      if (last.size() >= bytes) {
        return last;
      }
    }
    free_buffers_.reserve(++allocated_count_);  // `give_back` cannot fail
    return registered_memory(rdma_device, bytes);
  }
  void give_back(registered_memory m) noexcept { free_buffers_.push_back(std::move(m)); }

 private:
  std::vector<registered_memory> free_buffers_;
  std::size_t allocated_count_ = 0;
};

/// A long message that is being read from the sender's memory: directly to its target if it is only moved, otherwise
/// through a buffer; in pieces, several under way.
class remote_reader {
 public:
  static constexpr std::size_t max_reads = 4;

  [[nodiscard]] bool is_active() const noexcept { return active_; }
  [[nodiscard]] std::size_t consumed_bytes() const noexcept { return active_ ? consumed_bytes_ : 0; }

  void begin(registrar& memory_registrar, piece_pool& pool, message_place const& source, receive_request const& request,
             std::size_t usual_piece) {
    remote_address_ = source.address;
    key_ = source.key;
    total_ = source.bytes;
    requested_bytes_ = arrived_bytes_ = consumed_bytes_ = 0;
    target_ = request.place;
    piece_ = usual_piece < request.granule ? request.granule : usual_piece / request.granule * request.granule;
    if (target_ != nullptr) {
      target_lease_ = memory_registrar.lease_for(target_, total_, access::local_write);
    } else {
      std::size_t const pieces = (total_ + piece_ - 1) / piece_;
      buffer_ = pool.take(memory_registrar.rdma_device(), (pieces < max_reads ? pieces : max_reads) * piece_);
    }
    active_ = true;
  }

  /// Posts READs for all pieces that have room.
  void request(queue_pair& queue, std::uint32_t lane) noexcept {
    while (requested_bytes_ < total_ && requested_bytes_ < consumed_bytes_ + max_reads * piece_) {
      std::size_t const n = length(requested_bytes_);
      ibv_sge local_part{reinterpret_cast<std::uintptr_t>(target_at(requested_bytes_)), static_cast<std::uint32_t>(n),
                         target_ != nullptr ? target_lease_->local_key() : buffer_.key()};
      ibv_send_wr work_request{};
      work_request.opcode = IBV_WR_RDMA_READ;
      work_request.sg_list = &local_part;
      work_request.num_sge = 1;
      work_request.wr.rdma.remote_addr = remote_address_ + requested_bytes_;
      work_request.wr.rdma.rkey = key_;
      if (!queue.post(work_request, work::read, lane)) {
        return;
      }
      requested_bytes_ += n;
    }
  }
  /// Handles the arrival of the oldest requested piece.
  void arrive() noexcept { arrived_bytes_ += length(arrived_bytes_); }

  [[nodiscard]] chunk next() const noexcept {
    return arrived_bytes_ > consumed_bytes_ ? chunk{target_at(consumed_bytes_), length(consumed_bytes_)} : chunk{};
  }
  /// Frees the piece that `next` returned. True at the end of the message.
  bool release(piece_pool& pool) noexcept {
    consumed_bytes_ += length(consumed_bytes_);
    if (consumed_bytes_ == total_) {
      end(pool);
    }
    return !active_;
  }
  /// Ends the registration. @pre no READ is under way
  void end(piece_pool& pool) noexcept {
    if (active_) {
      target_lease_.reset();
      if (target_ == nullptr) {
        pool.give_back(std::move(buffer_));
      }
      active_ = false;
    }
  }

 private:
  [[nodiscard]] std::size_t length(std::size_t offset) const noexcept {
    return total_ - offset < piece_ ? total_ - offset : piece_;
  }
  [[nodiscard]] std::byte* target_at(std::size_t offset) const noexcept {
    return target_ != nullptr ? target_ + offset : buffer_.begin() + offset / piece_ % max_reads * piece_;
  }

  bool active_ = false;
  std::byte* target_ = nullptr;  ///< null: the bytes go through the buffer
  std::uint64_t remote_address_ = 0;
  std::uint32_t key_ = 0;
  std::size_t total_ = 0;
  std::size_t piece_ = 0;
  std::size_t requested_bytes_ = 0;
  std::size_t arrived_bytes_ = 0;
  std::size_t consumed_bytes_ = 0;
  lease target_lease_;
  registered_memory buffer_;
};

}  // namespace tutti::detail::verbs
