// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/completions.hpp>
#include <tutti/verbs/detail/endpoint_info.hpp>
#include <tutti/verbs/detail/message_head.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::verbs {

/// A reliable connection to one peer, and an account of its work requests.
class queue_pair {
 public:
  static constexpr std::uint32_t depth = 256;
  static constexpr std::uint32_t reserved_entries = 1;  ///< entries for a request that must not be refused: a flush
  static constexpr std::uint32_t max_inline = 128;

  queue_pair() noexcept = default;
  queue_pair(device const& rdma_device, completions const& completion_queue, rank_type peer) : peer_(peer) {
    ibv_qp_init_attr a{};
    a.send_cq = a.recv_cq = completion_queue.queue();
    a.qp_type = IBV_QPT_RC;
    for (std::uint32_t inline_bytes = max_inline; !qp_ && inline_bytes >= sizeof(message_head); inline_bytes /= 2) {
      a.cap = {.max_send_wr = depth,
               .max_recv_wr = receive_count,
               .max_send_sge = 2,
               .max_recv_sge = 1,
               .max_inline_data = inline_bytes};
      qp_ = handle<ibv_qp, ibv_destroy_qp>(ibv_create_qp(rdma_device.domain.get(), &a));
    }
    if (!qp_) {
      throw device_error(rdma_device.address, message({"cannot make a queue pair for rank ", peer}), errno);
    }
    inline_limit_ = a.cap.max_inline_data;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = rdma_device.address.port;
    attributes.qp_access_flags =
        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;  // lets peers probe by WRITEs of no bytes
    change(rdma_device.address, attributes, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }

  /// @param number the peer's queue pair
  /// @throws error(failure::join) that names both ends
  void connect(device const& rdma_device, endpoint_info const& local_info, endpoint_info const& peer_info,
               std::uint32_t number, verbs_options const& options) {
    endpoints_ = message({local_info.address.text(), ", to rank ", peer_, " at ", peer_info.address.text()});
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = static_cast<ibv_mtu>((std::min)(local_info.mtu, peer_info.mtu));
    attributes.dest_qp_num = number;
    attributes.rq_psn = peer_info.first_packet;
    attributes.max_dest_rd_atomic = static_cast<std::uint8_t>(local_info.max_reads);
    attributes.min_rnr_timer = 12;
    attributes.ah_attr.dlid = static_cast<std::uint16_t>(peer_info.lid);
    attributes.ah_attr.port_num = rdma_device.address.port;
    if (rdma_device.port.link_layer == IBV_LINK_LAYER_ETHERNET || peer_info.lid == 0) {
      attributes.ah_attr.is_global = 1;
      attributes.ah_attr.grh.dgid = peer_info.address.gid;
      attributes.ah_attr.grh.sgid_index = rdma_device.address.index;
      attributes.ah_attr.grh.hop_limit = 64;
    }
    change(endpoints_, attributes,
           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
               IBV_QP_MIN_RNR_TIMER);
    attributes = {};
    attributes.qp_state = IBV_QPS_RTS;
    attributes.timeout = options.timeout;
    attributes.retry_cnt = std::min<std::uint8_t>(options.retries, 6);
    attributes.rnr_retry = 6;
    attributes.sq_psn = local_info.first_packet;
    attributes.max_rd_atomic = static_cast<std::uint8_t>(
        (std::min)({peer_info.max_reads, static_cast<std::uint32_t>(rdma_device.limits.max_qp_init_rd_atom), 255U}));
    change(
        endpoints_, attributes,
        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }

  [[nodiscard]] std::uint32_t number() const noexcept { return qp_->qp_num; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(qp_); }
  /// Size up to which `post` copies a message.
  [[nodiscard]] std::uint32_t inline_limit() const noexcept { return inline_limit_; }
  /// True after the first error; a broken queue pair does nothing more.
  [[nodiscard]] bool is_broken() const noexcept { return is_broken_; }
  /// True if a completion is outstanding, good or bad.
  [[nodiscard]] bool has_outstanding() const noexcept { return signalled_count_ != 0; }
  /// True if the peer's device has not acknowledged the requests before a flush yet.
  [[nodiscard]] bool is_flushing() const noexcept { return flushing_ && !is_broken_; }
  [[nodiscard]] std::uint32_t sent_count() const noexcept { return sent_count_; }
  /// True if the device may still write to this rank's memory.
  [[nodiscard]] bool has_reads() const noexcept { return reading_ != 0; }

  /// Posts a request. False if the queue has no room, or the queue pair is broken.
  bool post(ibv_send_wr& work_request, work kind, std::uint32_t lane = 0) noexcept {
    std::uint32_t const limit = kind == work::flush ? depth : depth - reserved_entries;
    if (is_broken_ || posted_count_ - completed_count_ >= limit) {
      return false;
    }
    if (kind != work::send || ++unsignalled_count_ >= depth / 16) {
      work_request.send_flags |= IBV_SEND_SIGNALED;
    }
    work_request.wr_id = work_id{kind, peer_, lane, posted_count_ + 1}.pack();
    ibv_send_wr* bad = nullptr;
    if (ibv_post_send(qp_.get(), &work_request, &bad) != 0) {
      return false;
    }
    ++posted_count_;
    reading_ += is_read(kind) ? 1U : 0U;
    sent_count_ += work_request.opcode == IBV_WR_SEND || work_request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? 1U : 0U;
    if ((work_request.send_flags & IBV_SEND_SIGNALED) != 0) {
      unsignalled_count_ = 0;
      ++signalled_count_;
    }
    return true;
  }
  bool post_receive(std::byte* slot_memory, std::uint32_t key, std::uint32_t slot) noexcept {
    ibv_sge buffer{reinterpret_cast<std::uintptr_t>(slot_memory), static_cast<std::uint32_t>(slot_bytes), key};
    ibv_recv_wr work_request{};
    work_request.wr_id = work_id{work::receive, peer_, 0, slot}.pack();
    work_request.sg_list = &buffer;
    work_request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    return !is_broken_ && ibv_post_recv(qp_.get(), &work_request, &bad) == 0;
  }
  /// Probes the peer, unless a completion is outstanding anyway.
  void probe() noexcept {
    if (!has_outstanding()) {
      write_no_bytes(work::send);
    }
  }
  /// Requests an acknowledgement of all earlier requests. @pre not called before
  void flush() noexcept { flushing_ = write_no_bytes(work::flush); }

  /// Accounts for a completion of any request but a receive. The first bad one breaks the queue pair; all requests
  /// under way then complete as flushed.
  void complete(work_id const& id, ibv_wc_status status) noexcept {
    completed_count_ = id.number;
    reading_ -= is_read(id.kind) ? 1U : 0U;
    flushing_ = flushing_ && id.kind != work::flush;
    if (status == IBV_WC_SUCCESS) {
      signalled_count_ -= is_broken_ ? 0U : 1U;
    } else {
      fail(status);
    }
  }
  void fail(ibv_wc_status status) noexcept {
    // a flushed request is a consequence; the cause comes with another completion
    failure_status_ = is_broken_ && failure_status_ != IBV_WC_WR_FLUSH_ERR ? failure_status_ : status;
    is_broken_ = true;
    signalled_count_ = 0;
  }
  /// Text: "the queue pair of rxe0, port 1, ..., to rank 2 at rxe0, port 1, ..., has failed: transport retry counter
  /// exceeded".
  [[nodiscard]] std::string failure_text() const {
    return message({"the queue pair of ", endpoints_, ", has failed: ", ibv_wc_status_str(failure_status_), "; rank ",
                    peer_, " may be gone, or ", other_addresses});
  }
  /// Stops the device: it accesses this rank's memory no more, and flushes the requests under way.
  void stop() noexcept {
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_ERR;
    ibv_modify_qp(qp_.get(), &attributes, IBV_QP_STATE);
    fail(IBV_WC_WR_FLUSH_ERR);
  }
  void destroy() noexcept { qp_.reset(); }

 private:
  [[nodiscard]] static bool is_read(work kind) noexcept { return kind == work::read || kind == work::question; }

  bool write_no_bytes(work kind) noexcept {
    ibv_send_wr work_request{};
    work_request.opcode = IBV_WR_RDMA_WRITE;
    work_request.send_flags = IBV_SEND_SIGNALED;
    return post(work_request, kind);
  }

  static constexpr std::string_view other_addresses =
      "the two addresses do not reach each other: name others with TUTTI_VERBS_DEVICE and TUTTI_VERBS_GID";

  void change(port_address const& address, ibv_qp_attr& attributes, int mask) {
    change(address.text(), attributes, mask);
  }
  void change(std::string const& endpoints, ibv_qp_attr& attributes, int mask) {
    if (int const code = ibv_modify_qp(qp_.get(), &attributes, mask); code != 0) {
      throw error(failure::join,
                  message({"the queue pair of ", endpoints, " cannot become ",
                           attributes.qp_state == IBV_QPS_INIT ? "ready to be connected" : "ready to receive and send",
                           ": ", describe_errno(code), attributes.qp_state == IBV_QPS_RTR ? "; perhaps " : "",
                           attributes.qp_state == IBV_QPS_RTR ? other_addresses : ""}));
    }
  }

  handle<ibv_qp, ibv_destroy_qp> qp_;
  rank_type peer_ = 0;
  std::uint32_t inline_limit_ = 0;
  std::uint32_t posted_count_ = 0;
  std::uint32_t completed_count_ = 0;
  std::uint32_t signalled_count_ = 0;  ///< signalled requests under way
  std::uint32_t reading_ = 0;
  std::uint32_t sent_count_ = 0;
  std::uint32_t unsignalled_count_ = 0;  ///< unsignalled requests since the last signalled one
  bool flushing_ = false;
  bool is_broken_ = false;
  ibv_wc_status failure_status_ = IBV_WC_SUCCESS;  ///< status of the completion that broke it
  std::string endpoints_;                          ///< both addresses, for errors
};

}  // namespace tutti::detail::verbs
