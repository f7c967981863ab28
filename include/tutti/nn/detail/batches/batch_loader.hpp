// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/data/image_source.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <thread>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

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
  background_filler(image_source from, std::size_t rows);
  background_filler(background_filler const&) = delete;
  background_filler& operator=(background_filler const&) = delete;
  ~background_filler();

  /// Begins to fill the room.
  void start(image_choice const& wanted);

  /// Ends when the thread reads and writes nothing any more; what it made is forgotten.
  void settle() noexcept;

  /// If these images were requested, waits for them and exchanges the rooms.
  /// @throws what filling the room threw
  [[nodiscard]] bool take(image_choice const& wanted, batch_room& room);

 private:
  enum class stage : int { idle, requested, done, leaving };

  void become(stage next) noexcept;

  void serve() noexcept;

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
  /// @param rows most images of a batch
  batch_loader(image_source from, std::size_t rows, loading how);

  [[nodiscard]] dataset const& set() const noexcept { return from_.set(); }

  /// The chosen images; they stay until the next call. No allocation.
  /// @throws what image_source::fill throws, wherever it ran
  image_batch load(std::span<std::uint32_t const> chosen, std::uint64_t epoch);

  /// Says what will be loaded next: `chosen` stays as it is until then, or until `settle`.
  void prepare(std::span<std::uint32_t const> chosen, std::uint64_t epoch);

  /// Forgets what was prepared.
  void settle() noexcept;

 private:
  image_source from_;
  batch_room room_;
  std::unique_ptr<background_filler> ahead_;
};

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/batch_loader.ipp>
#endif
