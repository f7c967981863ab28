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

/// Why a rank gave no result: all that a tutti::error holds, whose kind is `none` if it was something else.
struct rank_failure : error_facts {
  rank_failure() = default;
  /// What is known of a rank that failed.
  rank_failure(std::string what, failure why = failure::none, std::vector<rank_type> culprits = {}, int killed_by = 0,
               int exited_with = 0)
      : error_facts{.kind = why, .at_fault = std::move(culprits)},
        text(std::move(what)),
        signal(killed_by),
        status(exited_with) {}
  /// That a rank threw this.
  explicit rank_failure(error const& e) : error_facts(e.facts()), text(e.what()) {}

  std::string text;           ///< for a human: what was thrown, or how the process ended
  int signal = 0;             ///< the signal that killed the process, or 0: none, or unknown
  int status = 0;             ///< the status that the process exited with before its result, or 0
  std::exception_ptr thrown;  ///< what the rank threw, if it was a thread or simulated; it stays in its own process
};

namespace detail {

/// The exception that is being handled, as a failure.
/// @pre called inside a catch block
[[nodiscard]] TUTTI_DECL rank_failure current_failure();

/// The failure of a rank whose thread was unwound by pthread_cancel or pthread_exit.
[[nodiscard]] TUTTI_DECL rank_failure unwound_failure();

/// A failure as bytes, for other processes: its text and its facts.
[[nodiscard]] TUTTI_DECL std::string encode(rank_failure const& f);

/// Reads what `encode` wrote. False: `bytes` are something else.
[[nodiscard]] TUTTI_DECL bool decode(std::string_view bytes, rank_failure& to);

/// Throws what a rank threw, or an error that tells as much of it as is known.
[[noreturn]] TUTTI_DECL void throw_failure(rank_failure const& why);

}  // namespace detail

/// What became of one rank: a value of type R (which may be void), or a failure.
template <class R>
class outcome {
  struct nothing {};
  struct stored {  // not R itself: a vector of bool holds none
    std::conditional_t<std::is_void_v<R>, nothing, R> value;
  };

 public:
  /// A rank that failed.
  outcome(rank_failure why) : why_(std::move(why)) {}
  /// A rank that returned; the value is made of the arguments.
  template <class... Args>
  explicit outcome(std::in_place_t, Args&&... args) {
    value_.push_back({std::forward<Args>(args)...});
  }

  /// Whether the rank returned.
  [[nodiscard]] bool has_value() const noexcept { return !value_.empty(); }
  /// Whether the rank returned.
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// The value.
  /// @throws what the rank threw, if it was a thread or simulated. Of a process: error with all its facts, if the rank
  ///         threw one or the process was killed or exited; std::runtime_error with the text of any other exception
  decltype(auto) value() & {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R&>(value_.front().value);
    }
  }
  /// The same.
  decltype(auto) value() const& {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R const&>(value_.front().value);
    }
  }
  /// The same, moved out.
  R value() && {
    expect_value();
    if constexpr (!std::is_void_v<R>) {
      return std::move(value_.front().value);
    }
  }

  /// Why there is no value; an empty failure if there is one.
  [[nodiscard]] rank_failure const& failure() const noexcept { return why_; }

 private:
  void expect_value() const {
    if (!has_value()) {
      detail::throw_failure(why_);
    }
  }

  std::vector<stored> value_;  ///< one, or none
  rank_failure why_;
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/extend/outcome.ipp>
#endif
