// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cxxabi.h>
#include <string_view>
#include <typeinfo>

namespace tutti::inline v0_1_0::detail::inline core {

/// The compiler's spelling of a type: the same in all units and programs that one compiler makes of one source,
/// wherever that lies, and another one for each lambda, also of one line.
///
/// __PRETTY_FUNCTION__ is not that: g++ spells all lambdas of a function alike, clang writes down their paths. typeid
/// is, but takes RTTI. What is thrown has its type with it in any case, as the Itanium C++ ABI has it.
template <class T>
[[nodiscard]] std::string_view type_spelling() {
  try {
    throw static_cast<T*>(nullptr);
  } catch (...) {
    return abi::__cxa_current_exception_type()->name();
  }
}

}  // namespace tutti::detail::core
