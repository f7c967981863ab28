// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/base/language.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Serialises numbers and texts, alike on every host.
class packer {
 public:
  /// Appends a number as 8 bytes.
  packer& number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_ += static_cast<char>(static_cast<unsigned char>(value >> shift));
    }
    return *this;
  }
  /// Appends a text as its length and its bytes.
  packer& text(std::string_view value) {
    number(value.size());
    bytes_ += value;
    return *this;
  }
  /// Appends texts as their number, then each text.
  template <class Range>
  packer& texts(Range const& values) {
    number(values.size());
    for (auto const& v : values) {
      text(v);
    }
    return *this;
  }
  /// Returns the bytes, and empties the packer.
  [[nodiscard]] std::string take() noexcept { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the output of a packer. Other bytes give zeros and `good() == false`, never a read past the end or an
/// allocation larger than the input.
class unpacker {
 public:
  /// Reads these bytes, which must outlive the unpacker.
  explicit unpacker(std::string_view bytes) noexcept : left_(bytes) {}

  /// The next number; 0 if there is none.
  std::uint64_t number() noexcept {
    std::string_view const eight = take_part(8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < eight.size(); ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(eight[i])} << (8 * i);
    }
    return value;
  }
  /// The next number, which must fit a T; otherwise 0, and `good()` becomes false.
  template <class T>
  T number_as() noexcept {
    std::uint64_t const value = number();
    good_ = good_ && static_cast<std::uint64_t>(static_cast<T>(value)) == value;
    return good_ ? static_cast<T>(value) : T{};
  }
  /// The next text, a part of the bytes; empty if there is none.
  std::string_view text() noexcept { return take_part(number()); }
  /// The next texts.
  template <class Texts = std::vector<std::string>>
  Texts texts() {
    Texts list;
    for (std::uint64_t count = number(); good_ && count > 0; --count) {
      list.emplace_back(text());
    }
    return list;
  }
  /// True if everything that was read was there.
  [[nodiscard]] bool good() const noexcept { return good_; }
  /// True if everything was read, and nothing is left over.
  [[nodiscard]] bool is_complete() const noexcept { return good_ && left_.empty(); }

 private:
  std::string_view take_part(std::uint64_t length) noexcept {
    if (!good_ || length > left_.size()) {
      good_ = false;
      return {};
    }
    auto const bytes = detail::integer_cast<std::size_t>(length);
    std::string_view const head = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return head;
  }

  std::string_view left_;
  bool good_ = true;
};

}  // namespace tutti
