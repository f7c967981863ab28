// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/batches/batch_loader.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

TUTTI_DECL background_filler::background_filler(image_source source, std::size_t rows)
    : source_(std::move(source)), room_(rows, source_.set().features()), thread_([this] { serve(); }) {}

TUTTI_DECL background_filler::~background_filler() {
  settle();
  become(stage::leaving);
  thread_.join();
}

TUTTI_DECL void background_filler::start(image_choice const& images) {
  settle();
  images_ = images;
  problem_ = nullptr;
  become(stage::filling);
}

TUTTI_DECL void background_filler::settle() noexcept {
  stage_.wait(stage::filling, std::memory_order_acquire);
  stage_.store(stage::idle, std::memory_order_relaxed);
}

TUTTI_DECL bool background_filler::take(image_choice const& images, batch_room& room) {
  if (stage_.load(std::memory_order_relaxed) == stage::idle || !(images == images_)) {
    return false;
  }
  settle();
  if (problem_ != nullptr) {
    std::rethrow_exception(std::exchange(problem_, nullptr));
  }
  std::swap(room, room_);
  return true;
}

TUTTI_DECL void background_filler::become(stage next) noexcept {
  stage_.store(next, std::memory_order_release);
  stage_.notify_one();
}

TUTTI_DECL void background_filler::serve() noexcept {
  while (true) {
    stage const now = stage_.load(std::memory_order_acquire);
    if (now == stage::leaving) {
      return;
    }
    if (now != stage::filling) {
      stage_.wait(now, std::memory_order_acquire);
      continue;
    }
    try {
      source_.fill(images_.images, images_.epoch, room_);
    } catch (...) {
      problem_ = std::current_exception();
    }
    become(stage::ready);
  }
}

TUTTI_DECL batch_loader::batch_loader(image_source source, std::size_t rows, loading_time loading_time)
    : source_(std::move(source)), room_(rows, source_.set().features()) {
  if (loading_time == loading_time::ahead) {
    ahead_ = std::make_unique<background_filler>(source_, rows);
  }
}

TUTTI_DECL image_batch batch_loader::load(std::span<std::uint32_t const> images, std::uint64_t epoch) {
  if (ahead_ == nullptr || !ahead_->take({images, epoch}, room_)) {
    source_.fill(images, epoch, room_);
  }
  return {room_.numbers(images.size()), room_.labels(images.size())};
}

TUTTI_DECL void batch_loader::prepare(std::span<std::uint32_t const> images, std::uint64_t epoch) {
  if (ahead_ != nullptr) {
    ahead_->start({images, epoch});
  }
}

TUTTI_DECL void batch_loader::settle() noexcept {
  if (ahead_ != nullptr) {
    ahead_->settle();
  }
}

}  // namespace tutti::nn::detail::batches
