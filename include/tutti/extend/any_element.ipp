// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/expects.hpp>

#include <source_location>
#include <string>

namespace tutti::inline v0_1_0 {

TUTTI_DECL any_element::any_element(std::string_view name) : any_element(name, 0) {
  constexpr struct {
    std::string_view name;
    std::size_t size;
  } types[] = {{"int8", 1},          {"int16", 2},         {"int32", 4},        {"int64", 8},
               {"uint8", 1},         {"uint16", 2},        {"uint32", 4},       {"uint64", 8},
               {"float16", 2},       {"bfloat16", 2},      {"float32", 4},      {"float64", 8},
               {"complex64", 8},     {"complex128", 16},   {"bool", 1},         {"byte", 1},
               {"int32@index", 8},   {"int64@index", 16},  {"uint32@index", 8}, {"uint64@index", 16},
               {"float32@index", 8}, {"float64@index", 16}};
  std::string names;
  for (auto const& type : types) {
    if (name == type.name) {
      size_ = type.size;
      return;
    }
    detail::append(names, {names.empty() ? "" : ", ", type.name});
  }
  detail::refuse(std::source_location::current(), {"any_element: there is no type \"", name, "\"; take one of ", names,
                                                   ", or any_element::bytes(size)"});
}

TUTTI_DECL any_element any_element::bytes(std::size_t size) {
  expects(size != 0, "any_element: an element has at least 1 byte, not 0");
  return {size == 1 ? "byte" : detail::message({"byte[", size, "]"}), size};
}

}  // namespace tutti
