// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cxxabi.h>
#include <string_view>
#include <typeinfo>

namespace tutti::inline v0_1_0::detail::inline core {

/// The compiler's spelling of a type: equal in all units and programs that one compiler makes of one source, wherever
/// its file is, and different for each lambda, even on one line.
///
/// Thrown objects carry their type without RTTI (Itanium C++ ABI; compilers.md: All compilers).
template <class T>
[[nodiscard]] std::string_view type_spelling() {
  try {
    throw static_cast<T*>(nullptr);
  } catch (...) {
    return abi::__cxa_current_exception_type()->name();
  }
}

}  // namespace tutti::detail::core
