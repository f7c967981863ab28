// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/nn/saved_model/base/error.hpp>
#include <tutti/nn/saved_model/base/json.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

TUTTI_DECL nlohmann::json parse_json(std::string_view text, std::size_t deepest) {
  using event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> names;  // names in each open object
  auto const check = [&](int depth, event kind, nlohmann::json& value) {
    if ((kind == event::object_start || kind == event::array_start) && static_cast<std::size_t>(depth) >= deepest) {
      throw model_error(tutti::detail::message({"its JSON is nested more deeply than ", deepest, " values"}));
    }
    if (kind == event::object_start) {
      names.emplace_back();
    } else if (kind == event::object_end) {
      names.pop_back();
    } else if (kind == event::key && !names.back().insert(value.get<std::string>()).second) {
      throw model_error("its JSON has two members \"" + value.get<std::string>() + "\" in one object; keep one");
    }
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (nlohmann::json::parse_error const& e) {
    throw model_error(tutti::detail::message({"it is not JSON at character ", e.byte, " of ", text.size()}));
  } catch (nlohmann::json::exception const&) {  // a number beyond all types
    throw model_error(tutti::detail::message({"its JSON of ", text.size(), " characters has a number out of range"}));
  }
}

TUTTI_DECL json_reader::json_reader(nlohmann::json const& value, std::string path)
    : value_(&value), path_(std::move(path)) {}

TUTTI_DECL json_reader json_reader::member(std::string const& name) const {
  if (!value_->is_object()) {
    refuse("an object");
  }
  auto const entry = value_->find(name);
  if (entry == value_->end()) {
    fail("must have a member \"" + name + '"');
  }
  return {*entry, path_ + ", " + name};
}

TUTTI_DECL json_reader json_reader::item(std::size_t i) const {
  return {(*value_)[i], path_ + ' ' + std::to_string(i)};
}

TUTTI_DECL std::size_t json_reader::size() const {
  if (!value_->is_array()) {
    refuse("a list");
  }
  return value_->size();
}

TUTTI_DECL std::string json_reader::text() const {
  if (!value_->is_string()) {
    refuse("a text");
  }
  return value_->get<std::string>();
}

TUTTI_DECL std::vector<std::size_t> json_reader::whole_numbers(std::uint64_t high) const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i != size(); ++i) {
    result.push_back(item(i).whole(0, high));
  }
  return result;
}

TUTTI_DECL std::uint64_t json_reader::whole(std::string const& name, std::uint64_t low, std::uint64_t high) const {
  return member(name).whole(low, high);
}

TUTTI_DECL std::uint64_t json_reader::whole(std::uint64_t low, std::uint64_t high) const {
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < low || value_->get<std::uint64_t>() > high) {
    refuse(tutti::detail::message({"a whole number from ", low, " to ", high}).c_str());
  }
  return value_->get<std::uint64_t>();
}

TUTTI_DECL double json_reader::real(std::string const& name) const {
  auto const reader = member(name);
  if (!reader.value_->is_number() || !std::isfinite(reader.value_->get<float>())) {
    reader.refuse("a number of a float's range");
  }
  return reader.value_->get<double>();
}

TUTTI_DECL bool json_reader::truth(std::string const& name) const {
  auto const reader = member(name);
  if (!reader.value_->is_boolean()) {
    reader.refuse("true or false");
  }
  return reader.value_->get<bool>();
}

TUTTI_DECL void json_reader::fail(std::string const& reason) const {
  throw model_error(path_ + ' ' + reason);
}

TUTTI_DECL void json_reader::refuse(char const* expected) const {
  constexpr std::size_t longest = 40;
  auto const value = value_->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  fail(std::string("must be ") + expected + ", not " + value.substr(0, longest) +
       (value.size() > longest ? "..." : ""));
}

}  // namespace tutti::nn::detail
