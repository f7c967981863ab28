// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail {

/// Gives an operator its third form, `async(arguments..., token)`: `start` with a Boost.Asio
/// completion token. What it does is in <tutti/asio.hpp>, which must be included to use it.
template <class Operator>
struct asynchronous {
  template <class... Arguments>
  auto async(Arguments&&... arguments_and_token) {
    static_assert(
        requires(Operator& self) { async_start(self, std::forward<Arguments>(arguments_and_token)...); },
        "async: include <tutti/asio.hpp>, and give the arguments of start followed by a completion token");
    return async_start(static_cast<Operator&>(*this), std::forward<Arguments>(arguments_and_token)...);
  }
};

}  // namespace tutti::detail
