// SPDX-License-Identifier: Apache-2.0
//
// The threads of streams, and the kernels that run in them.
#include "work.hpp"

#include "launch.hpp"

#include <numeric>
#include <thread>

emulated_gpu::completion_ptr CUstream_st::put(work begin, work body) {
  last = std::make_shared<emulated_gpu::completion>();
  device.under_way.insert(last);
  all.push_back({std::move(begin), std::move(body), last, queue.put++, false});
  emulated_gpu::machine::get().changed.notify_all();
  return last;
}

void CUstream_st::end() {
  all.push_back({nullptr, nullptr, nullptr, 0, true});
  emulated_gpu::machine::get().changed.notify_all();
}

void CUstream_st::run() {
  auto& m = emulated_gpu::machine::get();
  while (true) {
    std::unique_lock lock(m.mutex);
    m.changed.wait(lock, [&] { return !all.empty(); });
    piece const one = std::move(all.front());
    all.pop_front();
    if (one.is_end) {
      lock.unlock();
      delete this;
      return;
    }
    m.changed.wait(lock, [&] { return queue.begun == one.number; });
    lock.unlock();
    run(one);
  }
}
void CUstream_st::run(piece const& one) {
  auto& m = emulated_gpu::machine::get();
  one.begin();
  {
    std::scoped_lock const lock(m.mutex);
    ++queue.begun;
    m.changed.notify_all();
  }
  one.body();
  std::scoped_lock const lock(m.mutex);
  one.done->done = true;
  one.done->at = emulated_gpu::clock::now();
  device.under_way.erase(one.done);
  m.changed.notify_all();
}

namespace emulated_gpu {

void wait_for(completion_ptr const& c) {
  auto& m = machine::get();
  std::unique_lock lock(m.mutex);
  m.changed.wait(lock, [&] { return c == nullptr || c->done; });
}

void kernel_has_run(device_state& d) {
  auto& m = machine::get();
  std::scoped_lock const lock(m.mutex);
  --d.kernels;
  m.changed.notify_all();
}

namespace {

bool may_reach(int from, int to) {
  auto& m = machine::get();
  std::scoped_lock const lock(m.mutex);
  return from == to || m.device(from).reaches[static_cast<std::size_t>(to)];
}

/// A running kernel.
class run {
 public:
  run(device_state& on, launch const& what) : on_(on), what_(what) {
    where_.memory = &machine::get().memory;
    where_.device = on.number;
    where_.may_reach = may_reach;
    std::scoped_lock const lock(machine::get().mutex);
    order_.seed(machine::get().seeds());
    draw_order_of_blocks();
  }

  void to_end() {
    while (begun_ != what_.blocks() || !resident_.empty()) {
      begin_blocks();
      idle_ = run_pieces() ? 0 : idle_ + 1;
      if (idle_ > 16) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      } else if (idle_ != 0) {
        std::this_thread::yield();
      }
    }
  }

 private:
  /// Draws the order of blocks, as CUDA promises none.
  void draw_order_of_blocks() {
    std::uint64_t const n = what_.blocks();
    next_ = order_() % n;
    for (step_ = order_() % n; std::gcd(step_, n) != 1; ++step_) {
    }
  }
  void begin_blocks() {
    auto& m = machine::get();
    std::unique_lock lock(m.mutex);
    if (resident_.empty()) {
      m.changed.wait(lock, [&] { return on_.free_multiprocessors != 0; });
    }
    for (; begun_ != what_.blocks() && on_.free_multiprocessors != 0; ++begun_) {
      --on_.free_multiprocessors;
      resident_.push_back(what_.make_block(next_, static_cast<std::uint32_t>(order_()), where_));
      next_ = (next_ + step_) % what_.blocks();
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
    ++on_.free_multiprocessors;
    m.changed.notify_all();
  }

  device_state& on_;
  launch const& what_;
  block_state where_;
  std::vector<block> resident_;
  std::uint64_t begun_ = 0;
  std::uint64_t next_ = 0;  ///< the next block
  std::uint64_t step_ = 1;  ///< distance to the block after the next
  unsigned idle_ = 0;       ///< number of consecutive rounds in which all blocks only waited
  std::minstd_rand order_;
};

}  // namespace

void run_kernel(device_state& on, launch const& what) {
  run(on, what).to_end();
}

}  // namespace emulated_gpu
