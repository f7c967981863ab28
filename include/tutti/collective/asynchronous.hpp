// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <utility>

namespace tutti::inline v0_1_0 {

/// Adds the third form of an operator, `async(arguments..., token)`: the arguments of `start`, then a completion token
/// of Boost.Asio. Defined in <tutti/asio.hpp>, which callers must include.
///
///     tutti::on_asio loop{world, io};
///     co_await sum.async(gradients, boost::asio::use_awaitable);
///
/// Cost: as `start`, and a handler of Asio's.
/// Thread safety: as the communicator; called by the thread that runs the event loop.
template <class Operator>
struct asynchronous {
  /// Starts the operation, and returns what the token makes of `void(std::exception_ptr)`, e.g. an awaitable or a
  /// future. The memory must stay valid and untouched until the operation is complete. A failure arrives as a
  /// tutti::error.
  /// @pre a tutti::on_asio of the communicator exists, and lives until the operation is complete
  /// @throws precondition_error like `start`, and if there is no tutti::on_asio
  template <class... Arguments>
  auto async(Arguments&&... arguments_and_token) {
    static_assert(
        requires(Operator& self) { async_start(self, std::forward<Arguments>(arguments_and_token)...); },
        "async: include <tutti/asio.hpp>, and give the arguments of start followed by a completion token");
    return async_start(static_cast<Operator&>(*this), std::forward<Arguments>(arguments_and_token)...);
  }
};

}  // namespace tutti
