// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/verbs/detail/queue_pair.hpp>
#include <tutti/verbs/detail/registrar.hpp>

#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// Registered buffers for pieces of messages. They are kept for the next ones; one that has become too small is not.
class piece_pool {
 public:
  [[nodiscard]] registered_memory take(device const& d, std::size_t bytes) {
    while (!spare_.empty()) {
      registered_memory last = std::move(spare_.back());
      spare_.pop_back();
      if (last.size() >= bytes) {
        return last;
      }
    }
    spare_.reserve(++made_);  // so that giving back cannot fail
    return registered_memory(d, bytes);
  }
  void give(registered_memory m) noexcept { spare_.push_back(std::move(m)); }

 private:
  std::vector<registered_memory> spare_;
  std::size_t made_ = 0;
};

/// A long message as its receiver reads it out of the sender's memory: straight to its place if it is only moved,
/// otherwise through buffers; piece by piece, several under way.
class pull {
 public:
  static constexpr std::size_t under_way = 4;

  [[nodiscard]] bool active() const noexcept { return active_; }
  [[nodiscard]] std::size_t given() const noexcept { return active_ ? given_ : 0; }

  void begin(registrar& r, piece_pool& pool, message_place const& at, wanted const& w, std::size_t usual) {
    from_ = at.address;
    key_ = at.key;
    total_ = at.bytes;
    asked_ = arrived_ = given_ = 0;
    place_ = w.place;
    piece_ = usual < w.granule ? w.granule : usual / w.granule * w.granule;
    if (place_ != nullptr) {
      into_ = r.take(place_, total_, access::written_here);
    } else {
      std::size_t const pieces = (total_ + piece_ - 1) / piece_;
      buffer_ = pool.take(r.on(), (pieces < under_way ? pieces : under_way) * piece_);
    }
    active_ = true;
  }

  /// Asks for as much as there is room for.
  void ask(queue_pair& q, std::uint32_t lane) noexcept {
    while (asked_ < total_ && asked_ < given_ + under_way * piece_) {
      std::size_t const n = length(asked_);
      ibv_sge to{reinterpret_cast<std::uintptr_t>(at(asked_)), static_cast<std::uint32_t>(n),
                 place_ != nullptr ? into_->local_key() : buffer_.key()};
      ibv_send_wr w{};
      w.opcode = IBV_WR_RDMA_READ;
      w.sg_list = &to;
      w.num_sge = 1;
      w.wr.rdma.remote_addr = from_ + asked_;
      w.wr.rdma.rkey = key_;
      if (!q.post(w, work::read, lane)) {
        return;
      }
      asked_ += n;
    }
  }
  /// The oldest piece that was asked for is here.
  void arrive() noexcept { arrived_ += length(arrived_); }

  [[nodiscard]] chunk next() const noexcept { return arrived_ > given_ ? chunk{at(given_), length(given_)} : chunk{}; }
  /// What `next` gave is no longer needed. True at the end of the message.
  bool release(piece_pool& pool) noexcept {
    given_ += length(given_);
    if (given_ == total_) {
      end(pool);
    }
    return !active_;
  }
  /// After this the device writes nowhere. Only when nothing is under way.
  void end(piece_pool& pool) noexcept {
    if (active_) {
      into_.reset();
      if (place_ == nullptr) {
        pool.give(std::move(buffer_));
      }
      active_ = false;
    }
  }

 private:
  [[nodiscard]] std::size_t length(std::size_t offset) const noexcept {
    return total_ - offset < piece_ ? total_ - offset : piece_;
  }
  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
    return place_ != nullptr ? place_ + offset : buffer_.begin() + offset / piece_ % under_way * piece_;
  }

  bool active_ = false;
  std::byte* place_ = nullptr;  ///< null: it goes through the buffer
  std::uint64_t from_ = 0;
  std::uint32_t key_ = 0;
  std::size_t total_ = 0;
  std::size_t piece_ = 0;
  std::size_t asked_ = 0;
  std::size_t arrived_ = 0;
  std::size_t given_ = 0;
  lease into_;
  registered_memory buffer_;
};

}  // namespace tutti::detail::verbs
