// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/packing.hpp>
#include <tutti/core/error.hpp>

#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti {

/// Why a rank gave no result.
struct rank_failure {
  std::string text = {};                       ///< for a human: what was thrown, or how the process ended
  tutti::failure kind = tutti::failure::none;  ///< of a tutti::error, else `none`
  std::vector<rank_type> at_fault = {};        ///< of a tutti::error: the ranks that it blames
  int signal = 0;                              ///< the signal that killed the process, or 0
  int status = 0;                              ///< the status that the process exited with before its result, or 0
};

/// The exception that is being handled, as a failure.
/// @pre called inside a catch block
[[nodiscard]] inline rank_failure current_failure() {
  try {
    throw;
  } catch (error const& e) {
    return {e.what(), e.kind(), e.at_fault()};
  } catch (std::exception const& e) {
    return {e.what()};
  } catch (...) {
    return {"an exception that is no std::exception"};
  }
}

/// A failure as bytes, for other processes.
[[nodiscard]] inline std::string encode(rank_failure const& f) {
  packer p;
  p.number(static_cast<std::uint64_t>(f.kind)).text(f.text).number(f.at_fault.size());
  for (rank_type const r : f.at_fault) {
    p.number(r);
  }
  return p.take();
}

/// Reads what `encode` wrote. False: `bytes` are something else.
[[nodiscard]] inline bool decode(std::string_view bytes, rank_failure& to) {
  unpacker u(bytes);
  auto const kind = u.number();
  to.kind = static_cast<failure>(kind);
  to.text = u.text();
  to.at_fault.clear();
  for (std::uint64_t count = u.number(); u.good() && count > 0; --count) {
    to.at_fault.push_back(u.number_as<rank_type>());
  }
  return u.done() && kind <= static_cast<std::uint64_t>(failure::join);
}

/// What became of one rank: a value of type R (which may be void), or a failure.
template <class R>
class outcome {
  struct nothing {};
  struct stored {  // not R itself: a vector of bool holds none
    std::conditional_t<std::is_void_v<R>, nothing, R> value;
  };

 public:
  outcome(rank_failure why) : why_(std::move(why)) {}
  template <class... Args>
  explicit outcome(std::in_place_t, Args&&... args) {
    value_.push_back({std::forward<Args>(args)...});
  }

  [[nodiscard]] bool has_value() const noexcept { return !value_.empty(); }
  [[nodiscard]] explicit operator bool() const noexcept { return has_value(); }

  /// The value.
  /// @throws error if the failure was one, otherwise std::runtime_error, with the failure's text
  decltype(auto) value() & {
    require();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R&>(value_.front().value);
    }
  }
  decltype(auto) value() const& {
    require();
    if constexpr (!std::is_void_v<R>) {
      return static_cast<R const&>(value_.front().value);
    }
  }
  R value() && {
    require();
    if constexpr (!std::is_void_v<R>) {
      return std::move(value_.front().value);
    }
  }

  /// Why there is no value; an empty failure if there is one.
  [[nodiscard]] rank_failure const& failure() const noexcept { return why_; }

 private:
  void require() const {
    if (has_value()) {
      return;
    }
    if (why_.kind == tutti::failure::none) {
      throw std::runtime_error(why_.text);
    }
    throw error(why_.kind, why_.text).between(no_rank, why_.at_fault);
  }

  std::vector<stored> value_;  ///< one, or none
  rank_failure why_;
};

}  // namespace tutti
