// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The sections of a checkpoint file. The numbers belong to the format and never change.
enum class section : std::uint32_t {
  fingerprint = 1,  ///< text that identifies the training
  place = 2,        ///< position in the training, and number of ranks
  parameters = 3,
  optimizer = 4,
  statistics = 5,  ///< statistics of each rank's layers, with their number of images, rank after rank
  history = 6,     ///< steps and epochs so far, for the report
  shards = 7,      ///< identities of the files with the other sections
  strategy = 8,    ///< state of the rank's strategy
  identity = 9,    ///< the number of the training to which the folder belongs
  batches = 10,    ///< batch sizes before the position, as text
  model = 11       ///< encoded description of the model, or an empty text
};

/// A section to be written.
struct section_bytes {
  section id;
  std::span<std::byte const> bytes;
};

/// The identity of a file: its length, and a checksum over the checksums of its sections.
struct file_identity {
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;

  friend bool operator==(file_identity const&, file_identity const&) = default;
};

static_assert(std::endian::native == std::endian::little, "checkpoints hold numbers in the order of the memory");

[[nodiscard]] TUTTI_DECL std::uint32_t checksum(std::span<std::byte const> bytes) noexcept;

/// The beginning of a file. The line ends reveal a copy made in text mode.
struct file_head {
  static constexpr std::array<char, 8> signature{'t', 'u', 't', 't', 'i', '\r', '\n', '\x1a'};
  static constexpr std::uint32_t latest = 5;
  static constexpr std::uint32_t max_sections = 64;

  std::array<char, 8> magic = signature;
  std::uint32_t version = latest;
  std::uint32_t sections = 0;
  std::uint64_t length = 0;  ///< length of the whole file
};

struct table_entry {
  std::uint32_t id = 0;
  std::uint32_t checksum = 0;
  std::uint64_t length = 0;
};

static_assert(sizeof(file_head) == 24 && sizeof(table_entry) == 16);

/// Writes a file: head, table of sections with their lengths and checksums (CRC-32), checksum of head and table,
/// sections.
/// @throws checkpoint_error; the file is then unchanged
TUTTI_DECL file_identity write_sections(std::filesystem::path const& name, std::span<section_bytes const> parts);

/// An open file of sections. Head and table are checked when it is opened, each section when it is read. Memory is
/// allocated by the reader's expectation, never by the file's contents.
class section_file {
 public:
  /// @throws damaged_checkpoint; other_format if another version of this program wrote it
  explicit section_file(std::filesystem::path const& name);

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] file_identity identity() const noexcept { return identity_; }
  [[nodiscard]] bool has(section id) const noexcept { return find(id) != nullptr; }
  /// Checks, before memory is allocated, that a section has `count` elements.
  template <class T>
  void require_size(section id, std::uint64_t count) const {
    auto const& part = required_section(id);
    if (part.length != count * sizeof(T)) {
      fail("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " has " +
           std::to_string(part.length) + " bytes, not " + std::to_string(count * sizeof(T)));
    }
  }

  /// Reads a section of exactly `destination.size()` elements.
  template <class T>
  void read(section id, std::span<T> destination) const {
    require_size<T>(id, destination.size());
    load(required_section(id), std::as_writable_bytes(destination));
  }

  /// Reads the bytes of a section of any length up to `limit`.
  [[nodiscard]] std::string read_text(section id, std::uint64_t limit) const;

  [[noreturn]] void fail(std::string const& reason) const;

 private:
  struct place_of_section {
    std::uint32_t id;
    std::uint32_t checksum;
    std::uint64_t offset;
    std::uint64_t length;
  };

  void check_table(file_head const& head);

  [[nodiscard]] place_of_section const* find(section id) const noexcept;
  [[nodiscard]] place_of_section const& required_section(section id) const;

  void load(place_of_section const& part, std::span<std::byte> destination) const;

  void read_at(std::uint64_t offset, std::span<std::byte> destination) const;

  std::string name_;
  tutti::detail::descriptor file_;
  file_identity identity_;
  std::vector<place_of_section> sections_;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/format.ipp>
#endif
