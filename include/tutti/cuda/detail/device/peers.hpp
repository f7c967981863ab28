// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/agreement.hpp>
#include <tutti/cuda/detail/device/driver.hpp>
#include <tutti/cuda/detail/device/kernel_watch.hpp>
#include <tutti/cuda/detail/device/tables.hpp>
#include <tutti/cuda/detail/device/windows.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/transport/over_host.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// Options of a rank in a world with devices. Equal on all ranks except `device`.
template <class Host>
struct peers_options {
  typename options_of<Host>::type host{};  ///< options of the underlying transport
  /// The number of this rank's device, which may differ between ranks. Negative: ranks take them in turns.
  int device = -1;
  /// The most thread groups of an operation; each is a block of GPU threads. 0: as many as run at the same time on the
  /// device beside those of its other ranks, and at most 64.
  std::uint32_t groups = 0;
  /// Bytes of device memory per group. Long vectors take more rounds if a topology overwrites sent blocks, as doubling
  /// does, or if accumulators do not fit the output.
  std::size_t scratch_bytes = std::size_t{1} << 20;
};

/// True if ranks of Host, as threads or as processes of one host, can reach each other's windows.
template <class Host, class D>
concept meets_windows = in_process<Host> || (shares_memory<Host> && exports_memory<D>);

/// A rank's objects on its device. Destroyed after Host, which tells the others that this rank has left: freeing
/// device memory may wait for all kernels on the device, and so for ranks that wait for this one.
template <driver D>
class peers_memory {
 protected:
  struct cached_tables {
    void const* type;
    std::uint32_t identity;
    std::unique_ptr<tables<D>> value;
  };

  std::unique_ptr<D> driver_;
  std::shared_ptr<host_words> words_;
  world_windows windows_;
  std::vector<cached_tables> tables_;
};

/// Ranks that have a device, or share one, and whose kernels work in each other's memory. Host does everything else:
/// messages in host memory, faults, failure detection.
///
/// Ranks in different processes reach only windows, not users' memory: an operation copies it into the window and
/// back, part by part. So `enqueue`, which must not block, never exports memory. When this rank's own kernels have
/// ended, it owns the user's memory again, whatever has happened to other processes.
template <tutti::transport Host, driver D>
  requires meets_windows<Host, D>
class peers : private peers_memory<D>, public over_host<Host> {
  using base = over_host<Host>;
  using storage = peers_memory<D>;
  using base::host_;
  using storage::driver_;
  using storage::tables_;
  using storage::windows_;
  using storage::words_;

 public:
  static constexpr std::string_view name = D::name;
  using stream_type = typename D::stream_type;
  using options = peers_options<Host>;
  using base::rank;
  using base::size;

  /// Collective over the members of the rendezvous.
  /// @throws error(failure::join) if Host cannot be opened, a rank has no device or no memory on it, devices cannot
  ///         reach each other, there are more than 16 ranks, or more ranks than groups on one device
  template <rendezvous M>
  explicit peers(M& meet, options const& settings = {}) : base(meet, settings.host) {
    expects(settings.scratch_bytes % 512 == 0 && settings.scratch_bytes != 0,
            "peers: scratch_bytes must be a multiple of 512, not ", settings.scratch_bytes);
    std::string device;
    static_cast<void>(agree(name, meet, [&] {
      if (size() > most_ranks) {
        throw error(failure::join, "kernels work in the memory of at most " + std::to_string(most_ranks) +
                                       " ranks, and there are " + std::to_string(size()) +
                                       "; use fewer, or take staged_transport");
      }
      device_ = device_for<D>(rank(), settings.device);
      driver_ = std::make_unique<D>(device_);
      device = driver_->device();
      return std::string();
    }));
    auto const devices = meet.exchange(device);
    auto const groups = agree(name, meet, [&] {
      for (std::string const& other : devices) {
        if constexpr (in_process<Host>) {
          driver_->reach(other);
        }
      }
      return std::to_string(share(devices, settings.groups));
    });
    for (std::string const& text : groups) {
      groups_ = (std::min)(groups_, word_reader(text).number<std::uint32_t>());
    }
    static_cast<void>(agree(name, meet, [&] {
      words_ = make_host_words(*driver_);
      return std::string();
    }));
    window_shape const shape{size(), groups_, settings.scratch_bytes};
    if constexpr (in_process<Host>) {
      windows_ = windows_of_threads(*driver_, meet, shape);
    } else {
      windows_ = windows_of_processes(*driver_, meet, shape);
    }
    fill_board(settings.scratch_bytes);
  }
  /// Waits until everything enqueued has run, or was ended by its deadline or a fault of the world. Afterwards no
  /// kernel accesses this rank's memory. Does not wait in a forked child.
  ~peers() {
    if (generation_ != fork_guard::generation()) {  // kernels continue in the parent
      return;
    }
    kernel_watch watch(*this);
    while (!driver_->is_idle()) {
      if_device_works([&] {
        if (watch.is_due()) {
          probe();
          if (tutti::fault const cause = watch.find_fault(longest_deadline_)) {
            revoke(cause);
          }
        }
      });
      std::this_thread::yield();
    }
    if (tutti::fault const cause = device_fault()) {
      revoke(cause);
    }
    if (host_.fault()) {
      quiesce();
    }
  }

  // --- for operators

  [[nodiscard]] D& driver() noexcept { return *driver_; }
  /// The number of the device, also in parts of this world.
  [[nodiscard]] int device_number() const noexcept { return device_; }
  [[nodiscard]] device::board const& board() const noexcept { return board_; }
  /// The number of groups of an operation that moves `bytes` bytes. Equal on all ranks.
  [[nodiscard]] std::uint32_t groups_for(std::size_t bytes) const noexcept {
    constexpr std::size_t group_bytes = std::size_t{16} << 10;
    return static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes / group_bytes, 1, groups_));
  }
  /// The tables of an operation of a topology. They live as long as this transport, as graphs may use them.
  template <class Topology, class Op>
  [[nodiscard]] tables<D> const& tables_of(Topology const& topology, Op const& op) {
    static constexpr char type = 0;  // identifies the type by its address
    std::uint32_t const identity = identity_of(topology, size()).identity;
    for (auto const& entry : tables_) {
      if (entry.type == &type && entry.identity == identity) {
        return *entry.value;
      }
    }
    tables_.push_back({&type, identity, std::make_unique<tables<D>>(*driver_, topology, op, size(), rank())});
    return *tables_.back().value;
  }
  /// Counts an operation that is enqueued with deadline `limit`, and returns its number.
  [[nodiscard]] std::uint64_t count(call const& call_record, duration limit) {
    longest_deadline_ = (std::max)(longest_deadline_, limit);
    recent_[++enqueued_count_ % recent_.size()] = call_record;
    return enqueued_count_;
  }
  /// The longest deadline of all enqueued operations.
  [[nodiscard]] duration longest_deadline() const noexcept { return longest_deadline_; }

  // --- failure

  /// The fault that has ended operations on devices, as far as kernels or this rank have noticed.
  [[nodiscard]] tutti::fault device_fault() const noexcept { return tutti::fault::unpack(read(board_.fault)); }
  /// This rank's first operation that ended without a result, or 0.
  [[nodiscard]] std::uint64_t failed_operation() const noexcept { return read(board_.failed_operation); }
  /// The call of that number, if it is one of the last 64.
  [[nodiscard]] call recent_call(std::uint64_t number) const noexcept {
    return number != 0 && number + recent_.size() > enqueued_count_ ? recent_[number % recent_.size()] : call{};
  }
  /// Changes whenever an operation of this rank ends.
  [[nodiscard]] std::uint64_t progress() const noexcept { return read(board_.progress); }
  /// A rank that has left and will never begin the current operation, or no_rank.
  [[nodiscard]] rank_type missing()
    requires notices_departure<Host>
  {
    for (rank_type r = 0; r != size(); ++r) {
      if (r != rank() && host_.has_left(r)) {
        mailbox box;
        block_counts counts;
        load(&counts, board_.counts);
        load(&box, board_.box(rank(), 0, r));
        if (counts.busy != 0 && box.operation_count <= counts.operation_count) {
          return r;
        }
      }
    }
    return no_rank;
  }
  /// The call of another rank that differs from this rank's, if this rank has been told of it.
  [[nodiscard]] call differing_call(rank_type other) {
    for (std::uint32_t g = 0; g != groups_; ++g) {
      mailbox box;
      block_counts counts;
      load(&box, board_.box(rank(), g, other));
      load(&counts, board_.counts + g);
      if (box.operation_count > counts.operation_count) {
        return box.call_record;
      }
    }
    return {};
  }

  void revoke(tutti::fault const& cause) {
    host_.revoke(cause);
    stop();
  }
  void probe() {
    host_.probe();
    if (host_.fault()) {
      stop();
    } else if (tutti::fault const f = device_fault()) {
      host_.revoke(f);
    }
  }
  /// Does as Host does; afterwards no kernel accesses this rank's memory.
  void quiesce() {
    host_.quiesce();
    stop();
    if_device_works([this] {
      for (window const& w : reachable_windows()) {
        await_groups(w);
      }
    });
  }

  // --- messages

  void begin(flow s, call const& call_record) { host_.begin(s, call_record); }
  void end(flow s) { host_.end(s); }
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return host_.send(peer, s, bytes, granule);
  }
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket k) { return host_.is_released(peer, s, k); }
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& w) { return host_.view(peer, s, w); }
  [[nodiscard]] bool has_message(rank_type peer, flow s)
    requires notices_messages<Host>
  {
    return host_.has_message(peer, s);
  }
  void release(rank_type peer, flow s) { host_.release(peer, s); }
  [[nodiscard]] bool has_left(rank_type peer)
    requires notices_departure<Host>
  {
    return host_.has_left(peer);
  }
  void poll() { host_.poll(); }
  [[nodiscard]] int arm() { return host_.arm(); }

 private:
  static constexpr std::uint32_t most_groups = 64;

  /// The number of groups of this rank: all ranks of a device must run at the same time.
  [[nodiscard]] std::uint32_t share(std::vector<std::string> const& devices, std::uint32_t requested_groups) const {
    auto const ranks = static_cast<std::uint32_t>(std::count(devices.begin(), devices.end(), devices[rank()]));
    std::uint32_t const limit = driver_->groups() / ranks;
    if (limit == 0 || requested_groups > limit) {
      throw error(failure::join, "device " + devices[rank()] + " runs " + std::to_string(driver_->groups()) +
                                     " groups at the same time, but its " + std::to_string(ranks) + " ranks need " +
                                     std::to_string(requested_groups == 0 ? 1 : requested_groups) +
                                     " each; use fewer ranks on it, or fewer groups");
    }
    return requested_groups != 0 ? requested_groups : (std::min)(limit, most_groups);
  }
  void fill_board(std::size_t scratch_bytes) {
    window const& local_window = windows_.by_rank[rank()];
    board_.rank = rank();
    board_.ranks = size();
    board_.apart = !in_process<Host>;
    board_.counts = local_window.counts();
    board_.scratch = local_window.scratch();
    board_.scratch_bytes = scratch_bytes;
    board_.fault = &words_->fault;
    board_.failed_operation = &words_->failed_operation;
    board_.progress = &words_->progress;
    for (rank_type r = 0; r != size(); ++r) {
      board_.shifts[r] = windows_.shifts[r];
      board_.boxes[r] = windows_.by_rank[r].boxes();
      board_.scratches[r] = windows_.by_rank[r].scratch();
      board_.stops[r] = windows_.by_rank[r].stop();
    }
  }
  /// The windows of the ranks whose kernels may access this rank's user memory. Ranks that are apart have only their
  /// own: others may be dead, their memory gone, and their counters never change again.
  [[nodiscard]] std::span<window const> reachable_windows() const noexcept {
    return board_.apart ? std::span(&windows_.by_rank[rank()], 1) : std::span(windows_.by_rank);
  }

  [[nodiscard]] static std::uint64_t read(std::uint64_t const* word) noexcept {
    return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
  }
  /// Ends the operations of all ranks' kernels, now and later, after the world has failed. If ranks are apart, each is
  /// told by its own host, as Host knows the fault everywhere.
  void stop() {
    tutti::fault const cause = host_.fault();
    if (!cause || is_stopped_) {
      return;
    }
    is_stopped_ = true;
    std::uint64_t const word = cause.pack();
    std::atomic_ref(*board_.fault).store(word, std::memory_order_release);
    if_device_works([&] {
      for (window const& w : reachable_windows()) {
        driver_->upload(reinterpret_cast<std::byte*>(w.stop()), reinterpret_cast<std::byte const*>(&word), sizeof word);
      }
    });
  }
  /// Calls `f`, ignoring errors of a failed device: it runs no kernels, so there is nothing to end or wait for.
  template <class F>
  static void if_device_works(F const& f) {
    try {
      f();
    } catch (std::runtime_error const&) {
    }
  }
  template <class T>
  void load(T* destination, T const* source) {
    driver_->download(reinterpret_cast<std::byte*>(destination), reinterpret_cast<std::byte const*>(source), sizeof(T));
  }
  void await_groups(window const& w) {
    for (std::uint32_t g = 0; g != groups_; ++g) {
      std::uint64_t busy = 1;
      for (load(&busy, &w.counts()[g].busy); busy != 0; load(&busy, &w.counts()[g].busy)) {
        std::this_thread::yield();
      }
    }
  }

  int device_ = 0;
  std::uint32_t groups_ = UINT32_MAX;
  device::board board_;
  std::array<call, 64> recent_{};
  std::uint64_t enqueued_count_ = 0;
  duration longest_deadline_{};
  bool is_stopped_ = false;
  std::uint32_t generation_ = fork_guard::generation();  ///< detects a forked child
};

}  // namespace tutti::detail::device
