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

/// A choice of images of an epoch.
struct image_choice {
  std::span<std::uint32_t const> images;
  std::uint64_t epoch = 0;

  friend bool operator==(image_choice const& a, image_choice const& b) noexcept {
    return a.images.data() == b.images.data() && a.images.size() == b.images.size() && a.epoch == b.epoch;
  }
};

/// A thread that fills one batch buffer at a time. Only one other thread may use this.
class background_filler {
 public:
  background_filler(image_source source, std::size_t rows);
  background_filler(background_filler const&) = delete;
  background_filler& operator=(background_filler const&) = delete;
  ~background_filler();

  /// Starts to fill the buffer.
  void start(image_choice const& images);

  /// Waits until the thread reads and writes nothing; its result is discarded.
  void settle() noexcept;

  /// If these images were requested, waits for them and swaps the buffers.
  /// @throws the exceptions of filling the buffer
  [[nodiscard]] bool take(image_choice const& images, batch_room& room);

 private:
  enum class stage : int { idle, filling, ready, leaving };

  void become(stage next) noexcept;

  void serve() noexcept;

  image_source source_;
  batch_room room_;
  image_choice images_;
  std::exception_ptr problem_;
  std::atomic<stage> stage_ = stage::idle;
  std::thread thread_;  // last, because it uses all other members
};

/// The time at which the images of a batch are converted to floats.
enum class loading_time {
  when_asked,  ///< on request, by the requesting thread
  ahead        ///< by another thread, while the previous batch is in use
};

/// Provides batches of images as floats.
///
/// Values are the same with and without loading ahead, bit for bit. Loading ahead needs a thread and a second buffer,
/// and pays if that thread has a core. One thread at a time uses a loader.
class batch_loader {
 public:
  /// @param rows largest number of images of a batch
  batch_loader(image_source source, std::size_t rows, loading_time loading_time);

  [[nodiscard]] dataset const& set() const noexcept { return source_.set(); }

  /// Returns the chosen images, valid until the next call. No allocation.
  /// @throws the exceptions of image_source::fill, on either thread
  image_batch load(std::span<std::uint32_t const> images, std::uint64_t epoch);

  /// Announces the next load. `images` must not change until then, or until `settle`.
  void prepare(std::span<std::uint32_t const> images, std::uint64_t epoch);

  /// Discards the prepared images.
  void settle() noexcept;

 private:
  image_source source_;
  batch_room room_;
  std::unique_ptr<background_filler> ahead_;
};

}  // namespace tutti::nn::detail::batches

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/batches/batch_loader.ipp>
#endif
