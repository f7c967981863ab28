// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <unistd.h>
#include <vector>

/// Data files that a test makes for itself.
namespace support {

namespace fs = std::filesystem;
using bytes = std::vector<std::uint8_t>;

/// A folder that is removed after the test.
struct folder {
  fs::path path = fs::temp_directory_path() / ("tutti_data_files_" + std::to_string(getpid()));
  folder() { fs::create_directories(path); }
  ~folder() { fs::remove_all(path); }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;

  fs::path write_plain(std::string const& name, bytes const& content) const {
    std::ofstream(path / name, std::ios::binary)
        .write(reinterpret_cast<char const*>(content.data()), static_cast<std::streamsize>(content.size()));
    return path / name;
  }
  fs::path write_compressed(std::string const& name, bytes const& content) const {
    gzFile const file = gzopen((path / name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path / name;
  }
  /// Writes some bytes, followed by this many times 16 MiB of zeros, compressed a thousandfold.
  fs::path write_bomb(std::string const& name, bytes const& first, std::size_t times) const {
    auto const zeros = write_compressed(name + ".zeros", bytes(std::size_t{16} << 20));
    std::ofstream file(write_compressed(name, first), std::ios::binary | std::ios::app);
    for (std::size_t i = 0; i != times; ++i) {  // members of a gzip file are unpacked one after the other
      file << std::ifstream(zeros, std::ios::binary).rdbuf();
    }
    return path / name;
  }
};

inline bytes idx_file(std::uint32_t magic, std::initializer_list<std::uint32_t> sizes, bytes const& content) {
  bytes result;
  auto const word = [&](std::uint32_t w) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      result.push_back(static_cast<std::uint8_t>(w >> shift));
    }
  };
  word(magic);
  for (auto const size : sizes) {
    word(size);
  }
  result.insert(result.end(), content.begin(), content.end());
  return result;
}

inline void expect_part(std::string const& text, std::string const& part) {
  BOOST_TEST(text.find(part) != std::string::npos, "\"" << part << "\" in \"" << text << "\"");
}

}  // namespace support
