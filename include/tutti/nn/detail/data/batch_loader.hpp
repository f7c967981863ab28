// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/data/image_source.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace tutti::nn::detail {

/// What images, of which epoch.
struct image_choice {
  std::span<std::uint32_t const> images;
  std::uint64_t epoch = 0;

  friend bool operator==(image_choice const& a, image_choice const& b) noexcept {
    return a.images.data() == b.images.data() && a.images.size() == b.images.size() && a.epoch == b.epoch;
  }
};

/// A thread that fills one room at a time. One other thread uses this.
class background_filler {
 public:
  background_filler(image_source from, std::size_t rows)
      : from_(std::move(from)), room_(rows, from_.set().features()), thread_([this] { serve(); }) {}
  background_filler(background_filler const&) = delete;
  background_filler& operator=(background_filler const&) = delete;
  ~background_filler() {
    settle();
    become(stage::leaving);
    thread_.join();
  }

  /// Begins to fill the room.
  void start(image_choice const& wanted) {
    settle();
    wanted_ = wanted;
    problem_ = nullptr;
    become(stage::requested);
  }

  /// Ends when the thread reads and writes nothing any more; what it made is forgotten.
  void settle() noexcept {
    stage_.wait(stage::requested, std::memory_order_acquire);
    stage_.store(stage::idle, std::memory_order_relaxed);
  }

  /// If these images were requested, waits for them and exchanges the rooms.
  /// @throws what filling the room threw
  [[nodiscard]] bool take(image_choice const& wanted, batch_room& room) {
    if (stage_.load(std::memory_order_relaxed) == stage::idle || !(wanted == wanted_)) {
      return false;
    }
    settle();
    if (problem_ != nullptr) {
      std::rethrow_exception(std::exchange(problem_, nullptr));
    }
    std::swap(room, room_);
    return true;
  }

 private:
  enum class stage : int { idle, requested, done, leaving };

  void become(stage next) noexcept {
    stage_.store(next, std::memory_order_release);
    stage_.notify_one();
  }

  void serve() noexcept {
    while (true) {
      stage const now = stage_.load(std::memory_order_acquire);
      if (now == stage::leaving) {
        return;
      }
      if (now != stage::requested) {
        stage_.wait(now, std::memory_order_acquire);
        continue;
      }
      try {
        from_.fill(wanted_.images, wanted_.epoch, room_);
      } catch (...) {
        problem_ = std::current_exception();
      }
      become(stage::done);
    }
  }

  image_source from_;
  batch_room room_;
  image_choice wanted_;
  std::exception_ptr problem_;
  std::atomic<stage> stage_ = stage::idle;
  std::thread thread_;  // last: it uses all the others
};

/// When the images of a batch become numbers.
enum class loading {
  when_asked,  ///< by the thread that asks
  ahead        ///< by a thread, while the batch before is in use
};

/// Hands out batches of images as numbers.
///
/// Loaded ahead or not, the numbers are the same, bit for bit. Loading ahead takes a thread and a second
/// room, and pays where that thread has a core to run on. One thread at a time uses a loader.
class batch_loader {
 public:
  struct batch {
    std::span<float const> numbers;  ///< image after image
    std::span<std::uint8_t const> labels;
  };

  /// @param rows most images of a batch
  batch_loader(image_source from, std::size_t rows, loading how)
      : from_(std::move(from)), room_(rows, from_.set().features()) {
    if (how == loading::ahead) {
      ahead_ = std::make_unique<background_filler>(from_, rows);
    }
  }

  [[nodiscard]] dataset const& set() const noexcept { return from_.set(); }

  /// The chosen images; they stay until the next call. No allocation.
  /// @throws what image_source::fill throws, wherever it ran
  batch load(std::span<std::uint32_t const> chosen, std::uint64_t epoch) {
    if (ahead_ == nullptr || !ahead_->take({chosen, epoch}, room_)) {
      from_.fill(chosen, epoch, room_);
    }
    return {room_.numbers(chosen.size()), room_.labels(chosen.size())};
  }

  /// Says what will be loaded next: `chosen` stays as it is until then, or until `settle`.
  void prepare(std::span<std::uint32_t const> chosen, std::uint64_t epoch) {
    if (ahead_ != nullptr) {
      ahead_->start({chosen, epoch});
    }
  }

  /// Forgets what was prepared.
  void settle() noexcept {
    if (ahead_ != nullptr) {
      ahead_->settle();
    }
  }

 private:
  image_source from_;
  batch_room room_;
  std::unique_ptr<background_filler> ahead_;
};

}  // namespace tutti::nn::detail
