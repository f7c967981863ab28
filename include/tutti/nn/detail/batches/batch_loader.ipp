// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/batches/batch_loader.hpp>

#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline batches {

TUTTI_DECL background_filler::background_filler(image_source from, std::size_t rows)
    : from_(std::move(from)), room_(rows, from_.set().features()), thread_([this] { serve(); }) {}

TUTTI_DECL background_filler::~background_filler() {
  settle();
  become(stage::leaving);
  thread_.join();
}

TUTTI_DECL void background_filler::start(image_choice const& wanted) {
  settle();
  wanted_ = wanted;
  problem_ = nullptr;
  become(stage::requested);
}

TUTTI_DECL void background_filler::settle() noexcept {
  stage_.wait(stage::requested, std::memory_order_acquire);
  stage_.store(stage::idle, std::memory_order_relaxed);
}

TUTTI_DECL bool background_filler::take(image_choice const& wanted, batch_room& room) {
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

TUTTI_DECL batch_loader::batch_loader(image_source from, std::size_t rows, loading how)
    : from_(std::move(from)), room_(rows, from_.set().features()) {
  if (how == loading::ahead) {
    ahead_ = std::make_unique<background_filler>(from_, rows);
  }
}

TUTTI_DECL image_batch batch_loader::load(std::span<std::uint32_t const> chosen, std::uint64_t epoch) {
  if (ahead_ == nullptr || !ahead_->take({chosen, epoch}, room_)) {
    from_.fill(chosen, epoch, room_);
  }
  return {room_.numbers(chosen.size()), room_.labels(chosen.size())};
}

TUTTI_DECL void batch_loader::prepare(std::span<std::uint32_t const> chosen, std::uint64_t epoch) {
  if (ahead_ != nullptr) {
    ahead_->start({chosen, epoch});
  }
}

TUTTI_DECL void batch_loader::settle() noexcept {
  if (ahead_ != nullptr) {
    ahead_->settle();
  }
}

}  // namespace tutti::nn::detail::batches
