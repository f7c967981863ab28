// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/error.hpp>

#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The reason why a rank returned no value: the facts of a tutti::error, or `kind == none` for any other exception.
struct rank_failure : error_facts {
  rank_failure() = default;
  /// Constructs the failure from its parts.
  rank_failure(std::string description, failure kind_of_failure = failure::none, std::vector<rank_type> culprits = {},
               int killed_by = 0, int exited_with = 0)
      : error_facts{.kind = kind_of_failure, .at_fault = std::move(culprits)},
        text(std::move(description)),
        signal(killed_by),
        status(exited_with) {}
  /// The failure of a rank that threw this error.
  explicit rank_failure(error const& e) : error_facts(e.facts()), text(e.what()) {}

  std::string text;  ///< for a human: the exception, or the end of the process
  int signal = 0;    ///< the signal that killed the process; 0: none, or unknown
  int status = 0;    ///< the exit status of a process that exited before its result; or 0
  std::exception_ptr
      exception;  ///< the exception itself, from a thread or a simulated rank; it never leaves its process
};

namespace detail {

/// The exception in flight, as a failure.
/// @pre called inside a catch block
[[nodiscard]] TUTTI_DECL rank_failure current_failure();

/// The failure of a rank whose thread was unwound by pthread_cancel or pthread_exit.
[[nodiscard]] TUTTI_DECL rank_failure unwound_failure();

/// Serialises a failure, its text and its facts, for other processes.
[[nodiscard]] TUTTI_DECL std::string encode(rank_failure const& f);

/// Reads the output of `encode`. Returns false for any other bytes.
[[nodiscard]] TUTTI_DECL bool decode(std::string_view bytes, rank_failure& result);

/// Rethrows the exception of the rank, or throws an error with all known facts.
[[noreturn]] TUTTI_DECL void throw_failure(rank_failure const& failure);

}  // namespace detail

/// The result of one rank: a value of type R (which may be void), or a failure.
template <class R>
class outcome {
  struct no_value {};
  struct value_holder {  // wrapped, because std::vector<bool> holds no bool
    std::conditional_t<std::is_void_v<R>, no_value, R> value;
  };

 public:
  /// Constructs the outcome of a rank that failed.
  outcome(rank_failure reason) : failure_(std::move(reason)) {}
  /// Constructs the outcome of a rank that returned; the arguments make the value.
  template <class... Args>
  explicit outcome(std::in_place_t, Args&&... args) {
    value_.push_back({std::forward<Args>(args)...});
  }

  /// True if the rank returned.
  [[nodiscard]] bool has_value() const noexcept { return !value_.empty(); }
  /// True if the rank returned.
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// The value.
  /// @throws the exception of the rank itself, from a thread or a simulated rank. From a process: error with all
  /// facts, if the rank threw one, was killed or exited; std::runtime_error with the text of any other exception
  decltype(auto) value() & {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R&>(value_.front().value);
    }
  }
  /// The value, to read.
  decltype(auto) value() const& {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R const&>(value_.front().value);
    }
  }
  /// The value, moved out.
  R value() && {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return std::move(value_.front().value);
    }
  }

  /// The reason for the missing value; an empty failure if there is a value.
  [[nodiscard]] rank_failure const& failure() const noexcept { return failure_; }

 private:
  void expect_value() const {
    if (!has_value()) {
      detail::throw_failure(failure_);
    }
  }

  std::vector<value_holder> value_;  ///< the value, or empty
  rank_failure failure_;
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/outcome.ipp>
#endif
