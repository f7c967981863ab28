// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail {

/// Parses JSON from an untrusted source: objects with equal names, and values deeper than `deepest`, are refused.
/// @throws model_error with the place in the text
[[nodiscard]] TUTTI_DECL nlohmann::json parse_json(std::string_view text, std::size_t deepest);

/// A value of a document, with its path for messages. Each function throws model_error if the value is of another kind.
class json_reader {
 public:
  /// @pre the document outlives this
  json_reader(nlohmann::json const& value, std::string path);

  /// The member of this name of an object.
  [[nodiscard]] json_reader member(std::string const& name) const;
  /// The item at place `i` of a list.
  /// @pre i < size()
  [[nodiscard]] json_reader item(std::size_t i) const;
  /// The number of items of a list.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] std::string text() const;

  [[nodiscard]] std::string text(std::string const& name) const { return member(name).text(); }
  /// The items of a list of whole numbers up to `high`.
  [[nodiscard]] std::vector<std::size_t> whole_numbers(std::uint64_t high) const;

  /// A whole number in [low, high].
  [[nodiscard]] std::uint64_t whole(std::string const& name, std::uint64_t low, std::uint64_t high) const;
  /// A number that is finite as a float.
  [[nodiscard]] double real(std::string const& name) const;
  [[nodiscard]] bool truth(std::string const& name) const;

  [[noreturn]] void fail(std::string const& reason) const;

 private:
  [[nodiscard]] std::uint64_t whole(std::uint64_t low, std::uint64_t high) const;
  [[noreturn]] void refuse(char const* expected) const;

  nlohmann::json const* value_;
  std::string path_;
};

}  // namespace tutti::nn::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/saved_model/base/json.ipp>
#endif
