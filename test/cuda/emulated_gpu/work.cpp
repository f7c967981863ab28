// SPDX-License-Identifier: Apache-2.0
//
// The threads of streams, and the kernels that run in them.
#include "work.hpp"

#include "launch.hpp"

#include <numeric>
#include <thread>

emulated_gpu::completion_ptr CUstream_st::enqueue(work begin, work body) {
  last = std::make_shared<emulated_gpu::completion>();
  device.pending.insert(last);
  pieces.push_back({std::move(begin), std::move(body), last, queue.enqueue_count++, false});
  emulated_gpu::machine::get().change.notify_all();
  return last;
}

void CUstream_st::end() {
  pieces.push_back({nullptr, nullptr, nullptr, 0, true});
  emulated_gpu::machine::get().change.notify_all();
}

void CUstream_st::run() {
  auto& m = emulated_gpu::machine::get();
  while (true) {
    std::unique_lock lock(m.mutex);
    m.change.wait(lock, [&] { return !pieces.empty(); });
    piece const next = std::move(pieces.front());
    pieces.pop_front();
    if (next.is_end) {
      lock.unlock();
      delete this;
      return;
    }
    m.change.wait(lock, [&] { return queue.begin_count == next.number; });
    lock.unlock();
    run(next);
  }
}
void CUstream_st::run(piece const& next) {
  auto& m = emulated_gpu::machine::get();
  next.begin();
  {
    std::scoped_lock const lock(m.mutex);
    ++queue.begin_count;
    m.change.notify_all();
  }
  next.body();
  std::scoped_lock const lock(m.mutex);
  next.state->is_done = true;
  next.state->time = emulated_gpu::clock::now();
  device.pending.erase(next.state);
  m.change.notify_all();
}

namespace emulated_gpu {

void wait_for(completion_ptr const& c) {
  auto& m = machine::get();
  std::unique_lock lock(m.mutex);
  m.change.wait(lock, [&] { return c == nullptr || c->is_done; });
}

void kernel_has_run(device_state& d) {
  auto& m = machine::get();
  std::scoped_lock const lock(m.mutex);
  --d.kernels;
  m.change.notify_all();
}

namespace {

bool can_reach(int device, int peer) {
  auto& m = machine::get();
  std::scoped_lock const lock(m.mutex);
  return device == peer || m.device(device).reachable[static_cast<std::size_t>(peer)];
}

/// A running kernel.
class kernel_run {
 public:
  kernel_run(device_state& device, launch const& kernel_launch) : device_(device), launch_(kernel_launch) {
    context_.memory = &machine::get().memory;
    context_.device = device.number;
    context_.can_reach = can_reach;
    std::scoped_lock const lock(machine::get().mutex);
    order_.seed(machine::get().seeds());
    draw_order_of_blocks();
  }

  void finish() {
    while (begin_count_ != launch_.blocks() || !resident_.empty()) {
      begin_blocks();
      idle_rounds_ = run_pieces() ? 0 : idle_rounds_ + 1;
      if (idle_rounds_ > 16) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      } else if (idle_rounds_ != 0) {
        std::this_thread::yield();
      }
    }
  }

 private:
  /// Draws the order of blocks, as CUDA promises none.
  void draw_order_of_blocks() {
    std::uint64_t const n = launch_.blocks();
    next_block_ = order_() % n;
    for (step_ = order_() % n; std::gcd(step_, n) != 1; ++step_) {
    }
  }
  void begin_blocks() {
    auto& m = machine::get();
    std::unique_lock lock(m.mutex);
    if (resident_.empty()) {
      m.change.wait(lock, [&] { return device_.free_multiprocessors != 0; });
    }
    for (; begin_count_ != launch_.blocks() && device_.free_multiprocessors != 0; ++begin_count_) {
      --device_.free_multiprocessors;
      resident_.push_back(launch_.make_block(next_block_, static_cast<std::uint32_t>(order_()), context_));
      next_block_ = (next_block_ + step_) % launch_.blocks();
    }
  }
  /// @returns true if any block did more than wait
  bool run_pieces() {
    bool moves = false;
    std::shuffle(resident_.begin(), resident_.end(), order_);
    for (std::size_t b = 0; b != resident_.size();) {
      block::state const s = resident_[b].run();
      moves = moves || s != block::state::idles;
      if (s == block::state::ended) {
        end_block(b);
      } else {
        ++b;
      }
    }
    return moves;
  }
  void end_block(std::size_t b) {
    std::swap(resident_[b], resident_.back());
    resident_.pop_back();
    auto& m = machine::get();
    std::scoped_lock const lock(m.mutex);
    ++device_.free_multiprocessors;
    m.change.notify_all();
  }

  device_state& device_;
  launch const& launch_;
  block_state context_;
  std::vector<block> resident_;
  std::uint64_t begin_count_ = 0;
  std::uint64_t next_block_ = 0;  ///< the next block
  std::uint64_t step_ = 1;        ///< distance to the block after the next
  unsigned idle_rounds_ = 0;      ///< number of consecutive rounds in which all blocks only waited
  std::minstd_rand order_;
};

}  // namespace

void run_kernel(device_state& device, launch const& kernel_launch) {
  kernel_run(device, kernel_launch).finish();
}

}  // namespace emulated_gpu
