// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <stdexcept>
#include <string>

namespace support {

/// Sets, during its lifetime, a language in which C and C++ write 1234.5 as "1.234,5".
///
/// Needs no locale of the system: writes the file from which glibc reads a locale's numbers (as localedef does) into a
/// folder of its own.
class comma_locale {
 public:
  comma_locale() {
    std::string folder = (std::filesystem::temp_directory_path() / "tutti-locale-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for a locale: " + folder);
    }
    std::filesystem::create_directory(folder + "/comma");
    write(folder + "/comma/LC_NUMERIC");
    ::setenv("LOCPATH", folder.c_str(), 1);
    bool const is_known = std::setlocale(LC_NUMERIC, "comma") != nullptr;
    std::filesystem::remove_all(folder);
    if (!is_known || std::to_string(0.5) != "0,500000") {
      throw std::runtime_error("the C library does not take the locale that this test made");
    }
    previous_locale_ = std::locale::global(std::locale(std::locale::classic(), new punctuation));
  }
  comma_locale(comma_locale const&) = delete;
  comma_locale& operator=(comma_locale const&) = delete;
  ~comma_locale() {
    std::locale::global(previous_locale_);
    std::setlocale(LC_NUMERIC, "C");
  }

 private:
  struct punctuation final : std::numpunct<char> {
    [[nodiscard]] char do_decimal_point() const override { return ','; }
    [[nodiscard]] char do_thousands_sep() const override { return '.'; }
    [[nodiscard]] std::string do_grouping() const override { return "\3"; }
  };

  /// Writes six values: decimal point, separator, group sizes, point and separator as wide characters, character set.
  static void write(std::string const& path) {
    constexpr std::uint32_t numbers = 0x20031114;  // the magic number of such a file
    std::uint32_t const head[] = {numbers, 6, 32, 34, 36, 40, 44, 48};
    std::uint32_t const wide[] = {',', '.'};
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<char const*>(head), sizeof head);
    file.write(",\0.\0\3\3\0\0", 8);
    file.write(reinterpret_cast<char const*>(wide), sizeof wide);
    file.write("ANSI_X3.4-1968", 15);
    if (!file.flush()) {
      throw std::runtime_error("cannot write " + path);
    }
  }

  std::locale previous_locale_;
};

}  // namespace support
