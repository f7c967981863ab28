// SPDX-License-Identifier: Apache-2.0
//
// The protocols of shared memory, each as a small program on the real headers.
#include <tutti/detail/shared_memory/mailbox_endpoint.hpp>
#include <tutti/detail/shared_memory/shared_arena.hpp>
#include <tutti/detail/shared_memory/shared_peers.hpp>
#include <weak/programs.hpp>

#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>

namespace weak {
namespace {

using namespace tutti;
using namespace tutti::detail;

/// Addresses are their own locations: all ranks see the memory of the explorer at one place.
struct plain_locations {
  static constexpr bool one_process = false;
  [[nodiscard]] std::uint64_t encode(void const* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  [[nodiscard]] std::byte* decode(rank_type, std::uint64_t location) const noexcept {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(location));
  }
};

struct seat {
  rank_type number;
  rank_type count;
  [[nodiscard]] rank_type rank() const noexcept { return number; }
  [[nodiscard]] rank_type size() const noexcept { return count; }
  std::vector<std::string> exchange(std::string_view) { return {}; }
};

struct doorbells {
  void ring(rank_type r) noexcept { weak::ring(static_cast<int>(r)); }
};

using endpoint = mailbox_endpoint<plain_locations>;

constexpr rank_type all_sleep = no_rank;
constexpr rank_type all_poll = no_rank - 1;

constexpr flow lane{.lane = 0, .number = 1};

/// Ranks with a shared segment. Each thread is a rank.
template <rank_type N>
class world : public scenario {
 public:
  /// @param sleeper the rank that sleeps while it waits, or all_sleep; the others poll
  world(rank_type sleeper, bool has_membarrier) : sleeper_(sleeper) {
    for (rank_type r = 0; r < N; ++r) {
      segment_.construct(r);
    }
    for (rank_type r = 0; r < N; ++r) {
      ends_[r] =
          std::make_unique<endpoint>(segment_, seat{r, N}, plain_locations{}, bells_, sleep_barrier(has_membarrier));
      ends_[r]->begin(lane, {});
    }
  }

 protected:
  [[nodiscard]] endpoint& end(rank_type r) noexcept { return *ends_[r]; }
  [[nodiscard]] mail_segment& segment() noexcept { return segment_; }

  /// Waits as an operation does: asleep, or polling.
  template <class Predicate>
  void wait_until(rank_type me, Predicate&& is_done) {
    if (me != sleeper_ && sleeper_ != all_sleep) {
      await(is_done);
      return;
    }
    while (!is_done()) {
      end(me).sleep();
      if (is_done()) {
        end(me).wake();
        return;
      }
      await_ring();
      end(me).wake();
    }
  }

  /// Sends a message of equal bytes.
  void post(rank_type me, rank_type peer, std::size_t bytes, int value) {
    std::byte message[mailbox::max_inline];
    std::memset(message, value, sizeof message);
    wait_until(me, [&] { return end(me).post(peer, lane, {message, bytes}).is_accepted; });
  }
  /// Receives a message of equal bytes.
  void receive(rank_type me, rank_type peer, std::size_t bytes, int value) {
    chunk c;
    wait_until(me, [&] { return static_cast<bool>(c = end(me).view(peer, lane)); });
    require(c.bytes == bytes, "a message has its length");
    expect_bytes(c.data, bytes, value);
    end(me).release(peer, lane);
  }
  static void expect_bytes(std::byte const* data, std::size_t bytes, int value) {
    for (std::size_t i = 0; i < bytes; ++i) {
      require(data[i] == static_cast<std::byte>(value), "a message has its bytes");
    }
  }

 private:
  alignas(cache_line) std::byte memory_[mail_segment::bytes(N)];
  mail_segment segment_{memory_, N};
  doorbells bells_;
  rank_type sleeper_;
  std::unique_ptr<endpoint> ends_[N];
};

/// Messages from rank 0 to rank 1. The first `begin` are sent before.
class messages final : public world<2> {
 public:
  messages(rank_type sleeper, bool has_membarrier, int begin, std::vector<std::size_t> sizes)
      : world(sleeper, has_membarrier), sizes_(std::move(sizes)) {
    for (int i = 0; i < begin; ++i) {
      send(i);
    }
    begin_ = begin;
  }
  void run(int thread) override {
    for (int i = thread == 0 ? begin_ : 0; i < static_cast<int>(sizes_.size()); ++i) {
      thread == 0 ? send(i) : receive(1, 0, sizes_[static_cast<std::size_t>(i)], i + 1);
    }
  }

 private:
  void send(int i) { post(0, 1, sizes_[static_cast<std::size_t>(i)], i + 1); }

  std::vector<std::size_t> sizes_;
  int begin_ = 0;
};

/// A message from each of two ranks to a third one.
class two_senders final : public world<3> {
 public:
  explicit two_senders(bool has_membarrier) : world(0, has_membarrier) {}
  void run(int thread) override {
    auto const me = static_cast<rank_type>(thread);
    if (me != 0) {
      post(me, 0, 8, thread);
      return;
    }
    bool is_received[3] = {};
    for (int count = 0; count != 2; ++count) {
      rank_type sender = 0;
      wait_until(0, [&] {
        for (rank_type r = 1; r < 3; ++r) {
          sender = !is_received[r] && end(0).has_message(r, lane) ? r : sender;
        }
        return sender != 0;
      });
      is_received[sender] = true;
      chunk const c = end(0).view(sender, lane);
      require(static_cast<bool>(c), "a message that is there is shown");
      expect_bytes(c.data, 8, static_cast<int>(sender));
      end(0).release(sender, lane);
    }
  }
};

/// A long message in private memory, which its receiver requests in two parts.
class parts final : public world<2> {
 public:
  parts(rank_type sleeper, std::uint32_t count) : world(sleeper, true), count_(count) {}
  void run(int thread) override {
    if (thread == 0) {
      std::byte message[2 * part_bytes];
      std::memset(message, 1, part_bytes);
      std::memset(message + part_bytes, 2, part_bytes);
      ticket const number = end(0).point_to(1, lane, message).release_ticket;
      wait_until(0, [&] {
        mailbox::part const request = end(0).part_to_copy(1, lane.lane, number);
        if (request.bytes != 0) {
          std::memcpy(copy_, message + request.begin, request.bytes);
          end(0).give_part(1, lane.lane, copy_);
        }
        return end(0).acknowledged_or_gone(1, lane.lane, number);
      });
      return;
    }
    wait_until(1, [&] { return static_cast<bool>(end(1).view(0, lane)); });
    for (std::uint32_t i = 0; i < count_; ++i) {
      end(1).request_part(0, lane, {i * part_bytes, part_bytes});
      std::byte const* part = nullptr;
      wait_until(1, [&] { return (part = end(1).part(0, lane)) != nullptr; });
      expect_bytes(part, part_bytes, static_cast<int>(i + 1));
    }
    end(1).release(0, lane);
  }

 private:
  static constexpr std::uint32_t part_bytes = 64;
  std::uint32_t count_;
  std::byte copy_[part_bytes];
};

/// A block that rank 0 lends to rank 1, which returns it with its result.
class loan final : public world<2> {
 public:
  /// @param in_place the result is written to the lender's memory as it is made, not when the loan is returned
  explicit loan(bool in_place) : world(all_sleep, true), is_in_place_(in_place) {}
  void run(int thread) override {
    if (thread == 0) {
      std::memset(block_, 1, sizeof block_);
      require(end(0).share(1, lane, block_, block_).is_accepted, "a loan is accepted");
      chunk c;
      wait_until(0, [&] { return static_cast<bool>(c = end(0).view(1, lane)); });
      require(c.data == block_, "the returned block is the lent one");
      expect_bytes(block_, sizeof block_, 2);
      end(0).release(1, lane);
      std::memset(block_, 3, sizeof block_);
      return;
    }
    chunk c;
    wait_until(1, [&] { return static_cast<bool>(c = end(1).view(0, lane)); });
    expect_bytes(c.data, c.bytes, 1);
    std::byte result[sizeof block_];
    std::memset(result, 2, sizeof result);
    std::byte* const place = end(1).result_place(0, lane);
    if (is_in_place_) {
      std::memcpy(place, result, sizeof result);
    }
    end(1).release(0, lane);
    require(end(1).has_loan(0, lane, sizeof block_), "a loan is there");
    require(end(1).give_back(0, lane, {is_in_place_ ? place : result, sizeof result}).is_accepted,
            "a loan is returned");
  }

 private:
  bool is_in_place_;
  std::byte block_[128];
};

auto const none_died = [](rank_type) { return false; };

/// A rank that sends a message and leaves because of a fault elsewhere.
class sender_leaves final : public world<2> {
 public:
  sender_leaves() : world(all_sleep, true) {}
  void run(int thread) override {
    fault const reason{.kind = failure::deadline, .culprit = 7, .reporter = 5, .elsewhere = true};
    if (thread == 0) {
      post(0, 1, 8, 1);
      end(0).announce_departure(reason);
      end(0).leave(none_died);
      return;
    }
    receive(1, 0, 8, 1);
    wait_until(1, [&] {
      require(!end(1).view(0, lane), "a rank that has left sends nothing");
      return static_cast<bool>(end(1).fault());
    });
    require(end(1).fault() == reason, "the fault is the reason of the rank that left");
  }
};

/// A rank that reads a message in place and leaves.
class receiver_leaves final : public world<2> {
 public:
  /// @param is_released the receiver releases the message before
  explicit receiver_leaves(bool is_released) : world(all_sleep, true), is_released_(is_released) {}
  void run(int thread) override {
    if (thread == 0) {
      std::memset(block_, 1, sizeof block_);
      ticket const number = end(0).share(1, lane, block_).release_ticket;
      wait_until(0, [&] {
        return is_released_ ? end(0).is_released(1, lane, number) : end(0).acknowledged_or_gone(1, lane.lane, number);
      });
      require(!end(0).fault(), "a rank that leaves after it has read is no fault");
      std::memset(block_, 2, sizeof block_);
      return;
    }
    chunk c;
    wait_until(1, [&] { return static_cast<bool>(c = end(1).view(0, lane)); });
    expect_bytes(c.data, c.bytes, 1);
    if (is_released_) {
      end(1).release(0, lane);
    }
    end(1).leave(none_died);
  }

 private:
  bool is_released_;
  std::byte block_[128];
};

/// A rank that leaves while others may work in its memory: then it sets the fault first.
class lender_leaves final : public world<2> {
 public:
  lender_leaves() : world(all_sleep, true) {}
  void run(int thread) override {
    if (thread == 0) {
      std::memset(block_, 1, sizeof block_);
      end(0).share(1, lane, block_, block_);
      end(0).leave(none_died);
      std::memset(block_, 3, sizeof block_);
      return;
    }
    wait_until(1, [&] {
      if (!end(1).view(0, lane)) {
        return static_cast<bool>(end(1).fault());
      }
      std::memset(end(1).result_place(0, lane), 2, sizeof block_);
      end(1).release(0, lane);
      return true;
    });
  }

 private:
  std::byte block_[128];
};

/// A rank that takes its memory back after a fault, while a borrower may work there.
class memory_of_peers final : public world<3> {
 public:
  enum work { ends, is_interrupted, has_two_owners };

  /// @param revoker the rank that sets the fault
  /// @param borrowers_work ends with its release; or the borrower learns of the fault before; or it also reads memory
  /// of a second rank
  memory_of_peers(rank_type revoker, work borrowers_work)
      : world(all_poll, true), revoker_(revoker), work_(borrowers_work) {
    for (rank_type owner : {0U, 2U}) {
      std::memset(blocks_[owner], 1, block_bytes);
      end(owner).share(1, lane, blocks_[owner], blocks_[owner]);
    }
  }
  void run(int thread) override {
    auto const me = static_cast<rank_type>(thread);
    if (me == 1) {
      borrow();
    }
    if (me == revoker_) {
      end(me).revoke({.kind = failure::deadline});
    }
    if (me == 0) {
      await([&] { return static_cast<bool>(end(0).fault()); });
      end(0).quiesce(none_died);
      std::memset(blocks_[0], 3, block_bytes);
      expect_bytes(blocks_[0], block_bytes, 3);
    }
  }

 private:
  void borrow() {
    if (work_ == has_two_owners && !end(1).view(2, lane)) {
      return;
    }
    if (!end(1).view(0, lane)) {
      return;
    }
    std::memset(end(1).result_place(0, lane), 2, block_bytes);
    if (work_ == is_interrupted) {
      await([&] { return static_cast<bool>(end(1).fault()); });
      end(1).quiesce(none_died);
      return;
    }
    end(1).release(0, lane);
    if (work_ == has_two_owners) {
      end(1).release(2, lane);
    }
  }

  static constexpr std::size_t block_bytes = 128;
  rank_type revoker_;
  work work_;
  std::byte blocks_[3][block_bytes];
};

/// Two ranks that find different faults while a third one sleeps.
class two_faults final : public world<3> {
 public:
  explicit two_faults(bool has_membarrier) : world(2, has_membarrier) {}
  void run(int thread) override {
    auto const me = static_cast<rank_type>(thread);
    if (me == 2) {
      wait_until(2, [&] { return static_cast<bool>(end(2).fault()); });
    } else {
      end(me).revoke({.kind = failure::deadline, .culprit = me});
    }
    faults_[me] = end(me).fault();
  }
  void finish() override {
    require(faults_[0] && faults_[0] == faults_[1] && faults_[0] == faults_[2], "all ranks have the same fault");
  }

 private:
  fault faults_[3];
};

/// Two ranks that pass on one abort to a third one.
class abort_of_two final : public world<3> {
 public:
  abort_of_two() : world(all_poll, true) {}
  void run(int thread) override {
    auto const me = static_cast<rank_type>(thread);
    if (me == 2) {
      await([&] { return static_cast<bool>(end(2).fault()); });
    } else {
      end(me).revoke(cause_);
    }
    faults_[me] = end(me).fault();
  }
  void finish() override {
    require(faults_[0] == cause_ && faults_[1] == cause_ && faults_[2] == cause_, "all ranks have the reason");
  }

 private:
  fault cause_ = fault::abort(tutti::no_rank, 7, "why");
  fault faults_[3];
};

/// A call that a rank reads while it is overwritten.
class calls final : public scenario {
 public:
  calls() { board_.records[0].write({.count = 1, .root = 1, .identity = 1}, 1); }
  void run(int thread) override {
    if (thread == 0) {
      board_.records[0].write({.count = 2, .root = 2, .identity = 2, .kind = tutti::operation_kind::allreduce}, 5);
      return;
    }
    call value;
    std::uint32_t number = 0;
    std::uint32_t check = 0;
    if (board_.records[0].read(value, number, check)) {
      require(number == (value.count == 1 ? 1U : 5U) && value.root == value.count && value.identity == value.count,
              "a call is read whole");
    }
  }

 private:
  call_board board_;
};

/// Reports of a waiting rank, and a query.
class waits final : public world<2> {
 public:
  waits() : world(all_poll, true) { publish(1); }
  void run(int thread) override {
    if (thread == 0) {
      publish(2);
      publish(3);
      return;
    }
    std::ignore = end(1).query_wait(0);
    wait_report const report = end(1).reported_wait(0, lane.lane);
    if (report.peer != no_rank) {
      require(report.progress == report.peer && report.call.count == report.peer, "a report is read whole");
      require(!report.is_fresh || report.progress > 1, "a fresh report follows the query");
    }
  }

 private:
  void publish(std::uint32_t number) {
    end(0).publish_wait({.peer = number,
                         .flow = lane,
                         .progress = number,
                         .call = {.count = number, .kind = tutti::operation_kind::allreduce}});
  }
};

/// Two ranks that want to probe for dead ones at the same time.
class probes final : public scenario {
 public:
  void run(int thread) override { takes_[thread] = limit_.take(time_point(1'000'000'000), 2); }
  void finish() override { require(takes_[0] != takes_[1], "one of two ranks probes"); }

 private:
  probe_limit limit_;
  int takes_[2] = {};
};

/// A file with memory for the first bytes of each window, and a note of the windows that a process has mapped: a thread
/// that uses a mapping must know of it.
class noted_file {
 public:
  static constexpr std::size_t windows = 4;
  static constexpr std::size_t window_bytes = 512;  ///< bytes with memory

  [[nodiscard]] std::string commit(std::uint64_t, std::uint64_t) const { return {}; }
  [[nodiscard]] std::byte* map(std::uint64_t begin, std::size_t bytes) noexcept {
    std::uint64_t const window = begin / (bytes - page_bytes());
    is_mapped_[window] = 1;
    return memory + window * window_bytes;
  }
  static void unmap(std::byte*, std::size_t) noexcept {}
  void expect_mapped(std::byte const* address) const {
    require(is_mapped_[static_cast<std::size_t>(address - memory) / window_bytes] == 1,
            "memory is mapped before its use");
  }

  inline static std::byte* memory = nullptr;  ///< set by the constructor of a scenario

 private:
  int is_mapped_[windows] = {};
};
using arena = basic_shared_arena<noted_file>;

/// The arenas of two processes, whose table is empty at first.
struct two_arenas {
  two_arenas() {
    noted_file::memory = new (std::align_val_t(cache_line)) std::byte[noted_file::windows * noted_file::window_bytes];
    table.construct(0);
    for (rank_type r = 0; r < 2; ++r) {
      ranks[r]->set_table(table, r, SIZE_MAX);
    }
  }
  alignas(cache_line) std::byte table_memory[window_table::bytes(2)];
  window_table table{table_memory, 2};
  intrusive_pointer<arena> ranks[2] = {arena::create(), arena::create()};
};

/// A buffer that two processes use, and that is taken back.
class buffers final : public world<2> {
 public:
  buffers() : world(all_poll, true) {}
  void run(int thread) override {
    auto const me = static_cast<rank_type>(thread);
    arena& home = *arenas_.ranks[me];
    std::byte* const buffer = home.allot(buffer_bytes, 2);
    std::memset(buffer, thread, buffer_bytes);
    if (me == 0) {
      std::uint64_t const location = home.locate(buffer);
      require(end(0).post(1, lane, std::as_bytes(std::span(&location, 1))).is_accepted, "a location is sent");
      arena::end_use(buffer, 1);
      std::memset(home.allot(buffer_bytes, 2), 3, buffer_bytes);
      return;
    }
    chunk c;
    wait_until(1, [&] { return static_cast<bool>(c = end(1).view(0, lane)); });
    std::uint64_t location = 0;
    std::memcpy(&location, c.data, sizeof location);
    std::byte* const peer_buffer = home.address_of(0, location);
    expect_bytes(peer_buffer, buffer_bytes, 0);
    std::memset(peer_buffer, 2, buffer_bytes);
    arena::end_use(peer_buffer, 1);
  }

 private:
  static constexpr std::size_t buffer_bytes = 64;
  two_arenas arenas_;
};

/// Two threads of one process: one opens a window, and both use a window of another process.
class windows final : public scenario {
 public:
  windows() { location_ = arenas_.ranks[1]->locate(arenas_.ranks[1]->allot(64, 1)); }
  void run(int thread) override {
    arena& home = *arenas_.ranks[0];
    if (thread == 0) {
      own_location_.store(home.locate(home.allot(64, 1)), std::memory_order_release);
    } else {
      require(home.locate(&location_) == 0, "an address elsewhere is in no window");
      if (std::uint64_t const location = own_location_.load(std::memory_order_acquire); location != 0) {
        home.file.expect_mapped(home.address_of(0, location));
      }
    }
    home.file.expect_mapped(home.address_of(1, location_));
  }

 private:
  two_arenas arenas_;
  std::uint64_t location_;
  std::atomic<std::uint64_t> own_location_{0};
};

/// Two holders of an object. The last one deletes it.
class holders final : public scenario {
 public:
  holders() { peers_[1] = peers_[0]; }
  void run(int thread) override { peers_[thread] = {}; }

 private:
  intrusive_pointer<shared_peers> peers_[2] = {shared_peers::create(), {}};
};

}  // namespace

std::vector<program> protocols() {
  std::vector<program> list;
  auto const add = [&]<class... Arguments>(std::string name, int threads, auto scenario_type, Arguments... arguments) {
    using type = typename decltype(scenario_type)::type;
    list.push_back({std::move(name), threads, [=]() -> scenario* { return new type(arguments...); }});
  };
  using sizes = std::vector<std::size_t>;
  add("messages of 1 and 2 slots, fences", 2, std::type_identity<messages>(), all_sleep, false, 0, sizes{8, 96});
  add("messages of 1 and 2 slots, membarrier", 2, std::type_identity<messages>(), all_sleep, true, 0, sizes{8, 96});
  add("probes of two", 2, std::type_identity<probes>());
  add("waiting board", 2, std::type_identity<waits>());
  add("call board", 2, std::type_identity<calls>());
  add("holders", 2, std::type_identity<holders>());
  add("windows of a process", 2, std::type_identity<windows>());
  add("buffers of two processes", 2, std::type_identity<buffers>());
  add("parts", 2, std::type_identity<parts>(), all_poll, 2U);
  add("parts, sender sleeps", 2, std::type_identity<parts>(), 0U, 1U);
  add("parts, receiver sleeps", 2, std::type_identity<parts>(), 1U, 1U);
  add("loan, result in place", 2, std::type_identity<loan>(), true);
  add("loan, result copied", 2, std::type_identity<loan>(), false);
  add("sender leaves", 2, std::type_identity<sender_leaves>());
  add("receiver leaves", 2, std::type_identity<receiver_leaves>(), true);
  add("receiver leaves, message not released", 2, std::type_identity<receiver_leaves>(), false);
  add("lender leaves", 2, std::type_identity<lender_leaves>());
  using peers = std::type_identity<memory_of_peers>;
  add("memory of peers, owner finds the fault", 3, peers(), 0U, memory_of_peers::ends);
  add("memory of peers, borrower finds the fault", 3, peers(), 1U, memory_of_peers::ends);
  add("memory of peers, third finds the fault", 3, peers(), 2U, memory_of_peers::ends);
  add("memory of peers, borrower is interrupted", 3, peers(), 2U, memory_of_peers::is_interrupted);
  add("memory of peers, of two owners", 3, peers(), 0U, memory_of_peers::has_two_owners);
  add("faults of two, fences", 3, std::type_identity<two_faults>(), false);
  add("faults of two, membarrier", 3, std::type_identity<two_faults>(), true);
  add("abort of two", 3, std::type_identity<abort_of_two>());
  add("two senders, fences", 3, std::type_identity<two_senders>(), false);
  add("two senders, membarrier", 3, std::type_identity<two_senders>(), true);
  add("full mailbox", 2, std::type_identity<messages>(), all_sleep, true, 4, sizes{96, 96, 96, 96, 8});
  add("three messages, fences", 2, std::type_identity<messages>(), all_sleep, false, 0, sizes{8, 96, 8});
  add("three messages, membarrier", 2, std::type_identity<messages>(), all_sleep, true, 0, sizes{8, 96, 8});
  return list;
}

}  // namespace weak
