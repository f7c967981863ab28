// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/cuda/detail/device/thread_group.hpp>
#include <tutti/detail/core/fiber.hpp>
#include <tutti/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

/// Device code on the host: the boards of a world whose ranks are all in this process, and host threads in place of a
/// device's.
namespace models {

using tutti::rank_type;
namespace device = tutti::detail::device;

/// The memory that the ranks of a world share.
class device_world {
 public:
  /// @param apart ranks reach no other memory of each other
  device_world(rank_type n, std::uint32_t groups, std::size_t scratch_bytes, bool apart = false)
      : groups_(groups), ranks_(n), boxes_(n), boards_(n) {
    for (rank_type r = 0; r != n; ++r) {
      boxes_[r].resize(std::size_t{groups} * n);
      ranks_[r].counts.resize(groups);
      ranks_[r].scratch.resize(groups * scratch_bytes);
    }
    for (rank_type r = 0; r != n; ++r) {
      device::board& b = boards_[r];
      b.rank = r;
      b.ranks = n;
      b.apart = apart;
      b.counts = ranks_[r].counts.data();
      b.scratch = ranks_[r].scratch.data();
      b.scratch_bytes = scratch_bytes;
      b.fault = &ranks_[r].fault;
      b.failed_operation = &ranks_[r].first_failed;
      b.progress = &ranks_[r].progress;
      for (rank_type q = 0; q != n; ++q) {
        b.boxes[q] = boxes_[q].data();
        b.scratches[q] = ranks_[q].scratch.data();
        b.stops[q] = &ranks_[q].stop;
      }
    }
  }

  [[nodiscard]] device::board const& board_of(rank_type r) const { return boards_[r]; }
  [[nodiscard]] rank_type ranks() const { return static_cast<rank_type>(boards_.size()); }
  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  /// The fault that ended the operations of a rank, and the number of the first operation that it ended.
  [[nodiscard]] tutti::fault stop(rank_type r) const { return tutti::fault::unpack(ranks_[r].stop); }
  [[nodiscard]] std::uint64_t first_failed(rank_type r) const { return ranks_[r].first_failed; }
  [[nodiscard]] bool busy(rank_type r) const {
    return std::any_of(ranks_[r].counts.begin(), ranks_[r].counts.end(), [](auto const& c) { return c.busy != 0; });
  }

 private:
  struct rank_memory {
    std::vector<device::block_counts> counts;
    std::vector<std::byte> scratch;
    std::uint64_t stop = 0;
    std::uint64_t fault = 0;
    std::uint64_t first_failed = 0;
    std::uint64_t progress = 0;
  };
  std::uint32_t groups_;
  std::vector<rank_memory> ranks_;
  std::vector<std::vector<device::mailbox>> boxes_;
  std::vector<device::board> boards_;
};

/// Fibers of one thread that run in an order drawn from a seed: any interleaving, repeatably.
class drawn_order {
 public:
  explicit drawn_order(std::uint64_t seed) : random_(seed) {}

  void add(std::function<void()> f) { jobs_.push_back(std::make_unique<job>(std::move(f))); }
  /// Lets other fibers run; called by one of them.
  void step_aside() { current_->fiber.suspend(); }
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  /// True if all fibers have ended after at most `limit` turns; the others are deadlocked.
  [[nodiscard]] bool run(std::uint64_t limit) {
    std::vector<job*> alive;
    for (auto const& j : jobs_) {
      alive.push_back(j.get());
    }
    // One fiber gets no turn for a while, so that the others do everything that does not need it.
    job const* straggler = nullptr;
    for (; !alive.empty() && turns_ != limit; ++turns_) {
      straggler = turns_ % 256 == 0 ? alive[random_() % alive.size()] : straggler;
      std::size_t const k = random_() % alive.size();
      if (alive[k] == straggler && alive.size() > 1) {
        continue;
      }
      current_ = alive[k];
      current_->fiber.resume();
      if (current_->fiber.has_ended()) {
        alive[k] = alive.back();
        alive.pop_back();
      }
    }
    return alive.empty();
  }

 private:
  struct job {
    explicit job(std::function<void()> run)
        : f(std::move(run)),
          fiber(
              std::size_t{64} << 10, [](void* self) { static_cast<job*>(self)->f(); }, this) {}

    std::function<void()> f;
    tutti::detail::fiber fiber;
  };

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<job>> jobs_;
  job* current_ = nullptr;
  std::uint64_t turns_ = 0;
};

/// The state that the threads of a group share.
struct fiber_room {
  std::uint32_t arrival_count = 0;
  std::uint64_t round = 0;
  bool good = true;
  bool result = true;
};

class fiber_group {
 public:
  fiber_group(drawn_order& order, fiber_room& room, std::uint32_t rank, std::uint32_t size, std::uint64_t deadline)
      : order_(order), room_(room), rank_(rank), size_(size), deadline_(deadline) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  bool barrier_and(bool good) const {
    order_.step_aside();
    room_.good = room_.good && good;
    std::uint64_t const current_round = room_.round;
    if (++room_.arrival_count == size_) {
      room_.arrival_count = 0;
      room_.result = std::exchange(room_.good, true);
      ++room_.round;
    }
    while (room_.round == current_round) {
      order_.step_aside();
    }
    return room_.result;  // no thread passes the next barrier before this one has reached it
  }
  [[nodiscard]] std::uint64_t load_acquire(std::uint64_t const* word) const {
    order_.step_aside();
    return *word;
  }
  void store_release(std::uint64_t* word, std::uint64_t value) const {
    order_.step_aside();
    *word = value;
  }
  void store_fenced(std::uint64_t* word, std::uint64_t value) const { store_release(word, value); }
  void pause() const { order_.step_aside(); }
  [[nodiscard]] bool is_late() const { return order_.turns() > deadline_; }

 private:
  drawn_order& order_;
  fiber_room& room_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint64_t deadline_;
};
static_assert(device::thread_group<fiber_group>);

/// Runs f(rank, group, threads) on every thread of every group of every rank, in an order drawn from a seed. Returns
/// false if some threads have not ended.
template <class F>
[[nodiscard]] bool run_as_fibers(rank_type n, std::uint32_t groups, std::uint32_t threads, std::uint64_t seed,
                                 F const& f, std::uint64_t deadline = UINT64_MAX) {
  drawn_order order(seed);
  std::vector<fiber_room> rooms(std::size_t{n} * groups);
  for (rank_type r = 0; r != n; ++r) {
    for (std::uint32_t b = 0; b != groups; ++b) {
      for (std::uint32_t t = 0; t != threads; ++t) {
        order.add([&, r, b, t] { f(r, b, fiber_group(order, rooms[r * groups + b], t, threads, deadline)); });
      }
    }
  }
  return order.run(5'000'000);
}

/// The shared state of a group of real threads, for the thread sanitizer.
struct thread_room {
  std::atomic<std::uint32_t> arrival_count = 0;
  std::atomic<std::uint64_t> round = 0;
  std::atomic<bool> good = true;
  std::atomic<bool> result = true;
};

class host_thread_group {
 public:
  using clock = std::chrono::steady_clock;
  host_thread_group(thread_room& room, std::uint32_t rank, std::uint32_t size,
                    clock::time_point last = clock::time_point::max())
      : room_(room), rank_(rank), size_(size), last_(last) {}

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  bool barrier_and(bool good) const {
    if (!good) {
      room_.good = false;
    }
    std::uint64_t const current_round = room_.round;
    if (++room_.arrival_count == size_) {
      room_.arrival_count = 0;
      room_.result = room_.good.exchange(true);
      ++room_.round;
    }
    while (room_.round == current_round) {
      std::this_thread::yield();
    }
    return room_.result;
  }
  [[nodiscard]] std::uint64_t load_acquire(std::uint64_t const* word) const {
    return std::atomic_ref(*const_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
  }
  void store_release(std::uint64_t* word, std::uint64_t value) const {
    std::atomic_ref(*word).store(value, std::memory_order_release);
  }
  void store_fenced(std::uint64_t* word, std::uint64_t value) const { std::atomic_ref(*word).exchange(value); }
  void pause() const { std::this_thread::yield(); }
  [[nodiscard]] bool is_late() const { return last_ != clock::time_point::max() && clock::now() > last_; }

 private:
  thread_room& room_;
  std::uint32_t rank_;
  std::uint32_t size_;
  clock::time_point last_;
};
static_assert(device::thread_group<host_thread_group>);

template <class F>
void run_as_threads(rank_type n, std::uint32_t groups, std::uint32_t threads, F const& f) {
  std::vector<thread_room> rooms(std::size_t{n} * groups);
  std::vector<std::jthread> workers;
  for (rank_type r = 0; r != n; ++r) {
    for (std::uint32_t b = 0; b != groups; ++b) {
      for (std::uint32_t t = 0; t != threads; ++t) {
        workers.emplace_back([&, r, b, t] { f(r, b, host_thread_group(rooms[r * groups + b], t, threads)); });
      }
    }
  }
}

}  // namespace models
