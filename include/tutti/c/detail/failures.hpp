// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/tuning/preference.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/fault.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string_view>

namespace tutti::inline v0_1_0::detail::c {

constexpr bool agree(failure kind, tutti_failure number) noexcept {
  return static_cast<int>(kind) == static_cast<int>(number);
}
static_assert(agree(failure::peer_lost, TUTTI_PEER_LOST) && agree(failure::deadline, TUTTI_DEADLINE) &&
              agree(failure::mismatch, TUTTI_MISMATCH) && agree(failure::cancelled, TUTTI_CANCELLED) &&
              agree(failure::protocol, TUTTI_PROTOCOL) && agree(failure::join, TUTTI_JOIN) &&
              agree(failure::unreachable, TUTTI_UNREACHABLE) && agree(failure::aborted, TUTTI_ABORTED) &&
              failure_kinds == TUTTI_ABORTED + 1);

template <std::size_t N>
void copy_text(char (&target)[N], std::string_view text) noexcept {
  target[text.copy(target, N - 1)] = '\0';
}

/// Describes a failure that no rank is at fault for; returns its kind.
inline int describe(tutti_error* target, tutti_failure kind, std::string_view text) noexcept {
  if (target != nullptr) {
    *target = {};
    target->kind = kind;
    target->self = no_rank;
    copy_text(target->text, text);
  }
  return kind;
}

/// Describes an exception; returns its kind.
inline int describe(tutti_error* target, std::exception_ptr const& cause) noexcept {
  try {
    std::rethrow_exception(cause);
  } catch (error const& e) {
    int const kind = describe(target, static_cast<tutti_failure>(e.kind()), e.what());
    if (target != nullptr) {
      target->self = e.self();
      target->sequence = e.sequence();
      target->step = e.step();
      target->at_fault_count = static_cast<std::uint32_t>(e.at_fault().size());
      std::copy_n(e.at_fault().begin(), (std::min)(e.at_fault().size(), std::size(target->at_fault)), target->at_fault);
      copy_text(target->communicator, e.communicator());
      copy_text(target->operation, e.operation());
    }
    return kind;
  } catch (precondition_error const& e) {
    return describe(target, TUTTI_MISUSE, e.what());
  } catch (preference_error const& e) {
    return describe(target, TUTTI_MISUSE, e.what());
  } catch (std::exception const& e) {
    return describe(target, TUTTI_SYSTEM, e.what());
  } catch (...) {
    return describe(target, TUTTI_SYSTEM, "an exception of an unknown type");
  }
}

/// Runs `f`, which returns TUTTI_OK or TUTTI_NOT_YET, and describes its exceptions. It is no point of pthread_cancel,
/// whose unwinding may not pass a function for C.
template <class F>
int run_guarded(tutti_error* target, F f) noexcept {
  cancellation_shield const shield(cancellation_shield::points::silent);
  try {
    return f();
  } catch (...) {
    return describe(target, std::current_exception());
  }
}

}  // namespace tutti::detail::c
