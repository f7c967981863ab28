// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/card.hpp>
#include <tutti/verbs/detail/completions.hpp>
#include <tutti/verbs/detail/message_head.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::verbs {

/// A reliable connection to one peer, and the book of what is under way on it.
class queue_pair {
 public:
  static constexpr std::uint32_t depth = 256;
  static constexpr std::uint32_t reserved = 1;  ///< places for what may not be refused: a flush
  static constexpr std::uint32_t most_inline = 128;

  queue_pair() noexcept = default;
  queue_pair(device const& d, completions const& c, rank_type peer) : peer_(peer) {
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = c.queue();
    a.qp_type = IBV_QPT_RC;
    for (std::uint32_t inlined = most_inline; !qp_ && inlined >= sizeof(message_head); inlined /= 2) {
      a.cap = {.max_send_wr = depth,
               .max_recv_wr = receives,
               .max_send_sge = 2,
               .max_recv_sge = 1,
               .max_inline_data = inlined};
      qp_ = handle<ibv_qp, ibv_destroy_qp>(ibv_create_qp(d.domain.get(), &a));
    }
    if (!qp_) {
      throw device_error(d.at, message({"cannot make a queue pair for rank ", peer}), errno);
    }
    inline_ = a.cap.max_inline_data;
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = d.at.port;
    to.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;  // to be asked by WRITEs of no bytes
    change(d.at, to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }

  /// @param number the other end's
  /// @throws error(failure::join) that names both ends
  void connect(device const& d, card const& mine, card const& theirs, std::uint32_t number, verbs_options const& o) {
    ends_ = message({mine.at.text(), ", to rank ", peer_, " at ", theirs.at.text()});
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = static_cast<ibv_mtu>((std::min)(mine.mtu, theirs.mtu));
    to.dest_qp_num = number;
    to.rq_psn = theirs.first_packet;
    to.max_dest_rd_atomic = static_cast<std::uint8_t>(mine.reads);
    to.min_rnr_timer = 12;
    to.ah_attr.dlid = static_cast<std::uint16_t>(theirs.lid);
    to.ah_attr.port_num = d.at.port;
    if (d.port.link_layer == IBV_LINK_LAYER_ETHERNET || theirs.lid == 0) {
      to.ah_attr.is_global = 1;
      to.ah_attr.grh.dgid = theirs.at.gid;
      to.ah_attr.grh.sgid_index = d.at.index;
      to.ah_attr.grh.hop_limit = 64;
    }
    change(ends_, to,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER);
    to = {};
    to.qp_state = IBV_QPS_RTS;
    to.timeout = o.timeout;
    to.retry_cnt = std::min<std::uint8_t>(o.retries, 6);
    to.rnr_retry = 6;
    to.sq_psn = mine.first_packet;
    to.max_rd_atomic = static_cast<std::uint8_t>(
        (std::min)({theirs.reads, static_cast<std::uint32_t>(d.limits.max_qp_init_rd_atom), 255U}));
    change(
        ends_, to,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }

  [[nodiscard]] std::uint32_t number() const noexcept { return qp_->qp_num; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(qp_); }
  /// What a message may come to that is copied when it is posted.
  [[nodiscard]] std::uint32_t copies() const noexcept { return inline_; }
  /// It has seen an error, and does nothing more.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// Whether a completion is to come, good or bad.
  [[nodiscard]] bool asks() const noexcept { return signalled_ != 0; }
  /// Whether the peer's device has yet to acknowledge what came before a flush.
  [[nodiscard]] bool flushes() const noexcept { return flushing_ && !broken_; }
  /// How many messages have been sent.
  [[nodiscard]] std::uint32_t sent() const noexcept { return sent_; }
  /// Whether the device may still write to this rank's memory.
  [[nodiscard]] bool reads() const noexcept { return reading_ != 0; }

  /// False: there is no room now.
  bool post(ibv_send_wr& w, work kind, std::uint32_t lane = 0) noexcept {
    std::uint32_t const limit = kind == work::flush ? depth : depth - reserved;
    if (broken_ || posted_ - completed_ >= limit) {
      return false;
    }
    if (kind != work::send || ++quiet_ >= depth / 16) {
      w.send_flags |= IBV_SEND_SIGNALED;
    }
    w.wr_id = work_id{kind, peer_, lane, posted_ + 1}.pack();
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp_.get(), &w, &bad) != 0) {
      return false;
    }
    ++posted_;
    reading_ += is_read(kind) ? 1U : 0U;
    sent_ += w.opcode == IBV_WR_SEND || w.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 1U : 0U;
    if ((w.send_flags & IBV_SEND_SIGNALED) != 0) {
      quiet_ = 0;
      ++signalled_;
    }
    return true;
  }
  bool post_receive(std::byte* to, std::uint32_t key, std::uint32_t slot) noexcept {
    ibv_sge place{reinterpret_cast<std::uintptr_t>(to), static_cast<std::uint32_t>(slot_bytes), key};
    ibv_recv_wr w{};
    w.wr_id = work_id{work::receive, peer_, 0, slot}.pack();
    w.sg_list = &place;
    w.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return !broken_ && ibv_post_recv(qp_.get(), &w, &bad) == 0;
  }
  /// Asks whether the peer is still there, unless an answer is to come.
  void probe() noexcept {
    if (!asks()) {
      write_nothing(work::send);
    }
  }
  /// @pre once
  void flush() noexcept { flushing_ = write_nothing(work::flush); }

  /// To be told of each completion, but those of receives. The first that is bad breaks it: then all that is under way
  /// comes back so.
  void complete(work_id const& id, ibv_wc_status how) noexcept {
    completed_ = id.number;
    reading_ -= is_read(id.kind) ? 1U : 0U;
    flushing_ = flushing_ && id.kind != work::flush;
    if (how == IBV_WC_SUCCESS) {
      signalled_ -= broken_ ? 0U : 1U;
    } else {
      fail(how);
    }
  }
  void fail(ibv_wc_status why) noexcept {
    why_ = broken_ && why_ != IBV_WC_WR_FLUSH_ERR ? why_ : why;  // what is flushed has a reason that comes with another
    broken_ = true;
    signalled_ = 0;
  }
  /// "the queue pair of rxe0, port 1, ..., to rank 2 at rxe0, port 1, ..., has failed: transport retry counter
  /// exceeded"
  [[nodiscard]] std::string failure_text() const {
    return message({"the queue pair of ", ends_, ", has failed: ", ibv_wc_status_str(why_), "; rank ", peer_,
                    " may be gone, or ", other_addresses});
  }
  /// From now on the device takes nothing more from this rank's memory, and gives back what is under way.
  void stop() noexcept {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp_.get(), &to, IBV_QP_STATE);
    fail(IBV_WC_WR_FLUSH_ERR);
  }
  void destroy() noexcept { qp_.reset(); }

 private:
  [[nodiscard]] static bool is_read(work kind) noexcept { return kind == work::read || kind == work::question; }

  bool write_nothing(work kind) noexcept {
    ibv_send_wr w{};
    w.opcode = IBV_WR_RDMA_WRITE;
    w.send_flags = IBV_SEND_SIGNALED;
    return post(w, kind);
  }

  static constexpr std::string_view other_addresses =
      "the two addresses do not reach each other: TUTTI_VERBS_DEVICE and TUTTI_VERBS_GID name others";

  void change(port_address const& at, ibv_qp_attr& to, int what) { change(at.text(), to, what); }
  void change(std::string const& where, ibv_qp_attr& to, int what) {
    if (int const code = ibv_modify_qp(qp_.get(), &to, what); code != 0) {
      throw error(failure::join,
                  message({"the queue pair of ", where, " cannot become ",
                           to.qp_state == IBV_QPS_INIT ? "ready to be connected" : "ready to receive and send", ": ",
                           describe_errno(code), to.qp_state == IBV_QPS_RTR ? "; perhaps " : "",
                           to.qp_state == IBV_QPS_RTR ? other_addresses : ""}));
    }
  }

  handle<ibv_qp, ibv_destroy_qp> qp_;
  rank_type peer_ = 0;
  std::uint32_t inline_ = 0;
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  std::uint32_t signalled_ = 0;  ///< those under way that complete in any case
  std::uint32_t reading_ = 0;
  std::uint32_t sent_ = 0;
  std::uint32_t quiet_ = 0;  ///< how many since the last of these
  bool flushing_ = false;
  bool broken_ = false;
  ibv_wc_status why_ = IBV_WC_SUCCESS;  ///< it has broken
  std::string ends_;                    ///< its address, and the other one's
};

}  // namespace tutti::detail::verbs
