// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/joined_threads.hpp>

#include <system_error>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL joined_threads::~joined_threads() {
  cancellation_shield const while_joining;
  for (std::size_t i = 0; i != size_; ++i) {
    ::pthread_join(threads_[i].id, nullptr);
  }
}

TUTTI_DECL void joined_threads::start(body_call call, void const* body) {
  thread& entry = threads_[size_];
  entry = {.id = {}, .call = call, .body = body, .number = size_};
  auto const run = [](void* argument) -> void* {
    auto const* const self = static_cast<thread const*>(argument);
    self->call(self->body, self->number);
    return nullptr;
  };
  if (int const code = ::pthread_create(&entry.id, nullptr, run, &entry); code != 0) {
    throw std::system_error(code, std::generic_category(), "pthread_create");
  }
  ++size_;
}

}  // namespace tutti::detail::core
