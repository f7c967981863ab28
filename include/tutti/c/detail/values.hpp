// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/any_element.hpp>
#include <tutti/any_reduction.hpp>
#include <tutti/c.h>
#include <tutti/extend/expects.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::c {

/// The names of the types of c.h, in the order of its constants.
inline constexpr std::string_view type_names[] = {
    "int8",    "int16",    "int32",   "int64",   "uint8",     "uint16",     "uint32", "uint64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "bool",   "byte"};
/// The names of the operators of c.h, in the order of its constants.
inline constexpr std::string_view op_names[] = {
    "sum", "prod", "min", "max", "mean", "logical_and", "logical_or", "logical_xor", "bit_and", "bit_or", "bit_xor"};

/// The element type of a constant of c.h.
/// @throws precondition_error if there is none
[[nodiscard]] inline any_element element_of(tutti_type type) {
  constexpr tutti_type record_mark = UINT32_C(0x80000000);  // TUTTI_RECORD sets it
  if ((type & record_mark) != 0) {
    return any_element::bytes(type ^ record_mark);
  }
  static std::vector<any_element> const elements = [] {
    std::vector<any_element> list;
    for (std::string_view const name : type_names) {
      list.emplace_back(name);
    }
    return list;
  }();
  expects(type < elements.size(), "there is no type ", type, "; take a constant of tutti/c.h, such as TUTTI_FLOAT32");
  return elements[type];
}

/// The operators that programs have made of functions.
class function_operators {
 public:
  /// Adds an operator; returns its number.
  [[nodiscard]] tutti_op add(any_reduction const& reduction, tutti_type type) {
    std::lock_guard const lock(mutex_);
    tutti_op const number = next_++;
    entries_.emplace(number, entry{reduction, type});
    return number;
  }
  void remove(tutti_op number) {
    std::lock_guard const lock(mutex_);
    entries_.erase(number);
  }
  /// @throws precondition_error if there is none of this number, or it is for another type
  [[nodiscard]] any_reduction find(tutti_op number, tutti_type type) {
    std::lock_guard const lock(mutex_);
    auto const place = entries_.find(number);
    expects(place != entries_.end(), "there is no operator ", number,
            "; take a constant of tutti/c.h, such as TUTTI_SUM, or one of tutti_op_create that is not freed");
    expects(place->second.type == type, "operator ", number, " was made for elements of ",
            element_of(place->second.type).name(), ", and these are ", element_of(type).name());
    return place->second.reduction;
  }

 private:
  struct entry {
    any_reduction reduction;
    tutti_type type;
  };

  std::mutex mutex_;
  std::map<tutti_op, entry> entries_;
  tutti_op next_ = 1000;
};
inline function_operators& functions() {
  static function_operators list;
  return list;
}

/// The reduction by an operator of c.h.
/// @throws precondition_error if there is none for this type
[[nodiscard]] inline any_reduction reduction_of(tutti_type type, tutti_op op) {
  constexpr std::size_t types = std::size(type_names);
  constexpr std::size_t ops = std::size(op_names);
  static std::vector<std::optional<any_reduction>> const table = [] {
    std::vector<std::optional<any_reduction>> list(types * ops);
    for (std::size_t t = 0; t != types; ++t) {
      for (std::size_t o = 0; o != ops; ++o) {
        try {
          list[t * ops + o].emplace(op_names[o], any_element(type_names[t]));
        } catch (precondition_error const&) {  // this type has no such reduction
        }
      }
    }
    return list;
  }();
  if (op >= ops) {
    return functions().find(op, type);
  }
  if (type < types && table[type * ops + op]) [[likely]] {
    return *table[type * ops + op];
  }
  return any_reduction(op_names[op], element_of(type));  // throws, and names what there is
}

}  // namespace tutti::detail::c
