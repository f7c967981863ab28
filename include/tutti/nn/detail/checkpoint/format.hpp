// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/error.hpp>
#include <tutti/nn/detail/checkpoint/atomic_file.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace tutti::nn::detail {

/// The parts of a checkpoint's file. The numbers are the format's, and never change.
enum class section : std::uint32_t {
  fingerprint = 1,  ///< of which training, a text
  place = 2,        ///< how far it was, on how many ranks
  parameters = 3,
  optimizer = 4,
  statistics = 5,  ///< what each rank's layers remember, rank after rank
  history = 6,     ///< the steps and epochs so far, for the report
  shards = 7,      ///< which other files hold the rest
  strategy = 8     ///< what the rank's strategy remembers
};

/// One part, to be written.
struct section_bytes {
  section id;
  std::span<std::byte const> bytes;
};

/// What distinguishes a file from any other: its length, and a checksum over the checksums of its parts.
struct file_identity {
  std::uint64_t length = 0;
  std::uint32_t checksum = 0;

  friend bool operator==(file_identity const&, file_identity const&) = default;
};

static_assert(std::endian::native == std::endian::little, "checkpoints hold numbers in the order of the memory");

[[nodiscard]] inline std::uint32_t checksum(std::span<std::byte const> bytes) noexcept {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

/// What a file begins with. The line ends tell a copy that was mistaken for text.
struct file_head {
  static constexpr std::array<char, 8> ours{'t', 'u', 't', 't', 'i', '\r', '\n', '\x1a'};
  static constexpr std::uint32_t latest = 3;
  static constexpr std::uint32_t most_sections = 64;

  std::array<char, 8> magic = ours;
  std::uint32_t version = latest;
  std::uint32_t sections = 0;
  std::uint64_t length = 0;  ///< of the whole file
};

struct table_entry {
  std::uint32_t id = 0;
  std::uint32_t checksum = 0;
  std::uint64_t length = 0;
};

static_assert(sizeof(file_head) == 24 && sizeof(table_entry) == 16);

/// Writes a file: head, table of sections with their lengths and checksums (CRC-32), checksum of these, sections.
/// @throws checkpoint_error; the file is then what it was before
inline file_identity write_sections(std::filesystem::path const& name, std::span<section_bytes const> parts) {
  file_head head;
  head.sections = static_cast<std::uint32_t>(parts.size());
  head.length = sizeof head + parts.size() * sizeof(table_entry) + sizeof(std::uint32_t);
  std::vector<table_entry> table;
  for (auto const& part : parts) {
    table.push_back({static_cast<std::uint32_t>(part.id), checksum(part.bytes), part.bytes.size()});
    head.length += part.bytes.size();
  }
  auto const table_bytes = std::as_bytes(std::span(table));
  std::vector<std::byte> front(sizeof head + table_bytes.size());
  std::memcpy(front.data(), &head, sizeof head);
  std::ranges::copy(table_bytes, front.begin() + sizeof head);
  std::uint32_t const sum = checksum(front);

  atomic_file file(name);
  file.write(front);
  file.write(std::as_bytes(std::span(&sum, 1)));
  for (auto const& part : parts) {
    file.write(part.bytes);
  }
  file.commit();
  return {head.length, sum};
}

/// A file of sections, opened. What was said in its head is checked here, each section when it is read; nothing is
/// allocated by what the file says, but by what the reader expects.
class section_file {
 public:
  /// @throws damaged_checkpoint; other_format if another version of this program wrote it
  explicit section_file(std::filesystem::path const& name)
      : name_(name.string()), file_(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (!file_) {
      damaged("cannot be opened: " + tutti::detail::describe_errno(errno));
    }
    struct stat about {};
    if (::fstat(file_.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
      damaged("is no file");
    }
    file_head head;
    auto const size = static_cast<std::uint64_t>(about.st_size);
    if (size < sizeof head) {
      damaged("is cut short: " + std::to_string(size) + " bytes");
    }
    read_at(0, std::as_writable_bytes(std::span(&head, 1)));
    if (head.magic != file_head::ours) {
      damaged("is no checkpoint of tutti");
    }
    if (head.version > file_head::latest) {
      throw other_format(name_ + " was written by a later version of this program (format " +
                         std::to_string(head.version) + ", this one knows " + std::to_string(file_head::latest) +
                         "): use that one, or another folder");
    }
    if (head.version != 0 && head.version < file_head::latest) {
      throw other_format(name_ + " was written by an earlier version of this program (format " +
                         std::to_string(head.version) + ", this one knows " + std::to_string(file_head::latest) +
                         "): use that one, or another folder");
    }
    if (head.version == 0 || head.sections > file_head::most_sections) {
      damaged("is damaged: its head makes no sense");
    }
    if (head.length != size) {
      damaged(size < head.length
                  ? "is cut short: " + std::to_string(size) + " of " + std::to_string(head.length) + " bytes"
                  : "is damaged: it is longer than it says");
    }
    check_table(head);
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] file_identity identity() const noexcept { return identity_; }
  [[nodiscard]] bool has(section id) const noexcept { return find(id) != nullptr; }
  /// Before room is made for a section: it has to have so many elements.
  template <class T>
  void require_size(section id, std::uint64_t count) const {
    auto const& part = require(id);
    if (part.length != count * sizeof(T)) {
      damaged("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " has " +
              std::to_string(part.length) + " bytes, " + std::to_string(count * sizeof(T)) + " belong there");
    }
  }

  /// A section that has to have as many elements.
  template <class T>
  void read(section id, std::span<T> to) const {
    require_size<T>(id, to.size());
    load(require(id), std::as_writable_bytes(to));
  }

  /// The bytes of a section that has any number of them, up to `most`.
  [[nodiscard]] std::string read_text(section id, std::uint64_t most) const {
    auto const& part = require(id);
    if (part.length > most) {
      damaged("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " is too long");
    }
    std::string text(static_cast<std::size_t>(part.length), '\0');
    load(part, std::as_writable_bytes(std::span(text.data(), text.size())));
    return text;
  }

  [[noreturn]] void damaged(std::string const& why) const { throw damaged_checkpoint(name_ + " " + why); }

 private:
  struct place_of_section {
    std::uint32_t id;
    std::uint32_t checksum;
    std::uint64_t offset;
    std::uint64_t length;
  };

  void check_table(file_head const& head) {
    std::vector<std::byte> front(sizeof head + head.sections * sizeof(table_entry));
    std::uint64_t offset = front.size() + sizeof(std::uint32_t);
    std::uint32_t sum = 0;
    if (offset > head.length) {
      damaged("is damaged: its table is longer than the file");
    }
    read_at(0, front);
    read_at(front.size(), std::as_writable_bytes(std::span(&sum, 1)));
    if (sum != checksum(front)) {
      damaged("is damaged: the checksum of its head is another");
    }
    for (std::size_t i = 0; i != head.sections; ++i) {
      table_entry entry;
      std::memcpy(&entry, front.data() + sizeof head + i * sizeof entry, sizeof entry);
      if (entry.length > head.length - offset) {
        damaged("is damaged: a section reaches beyond its end");
      }
      sections_.push_back({entry.id, entry.checksum, offset, entry.length});
      offset += entry.length;
    }
    if (offset != head.length) {
      damaged("is damaged: its sections do not fill it");
    }
    identity_ = {head.length, sum};
  }

  [[nodiscard]] place_of_section const* find(section id) const noexcept {
    auto const at = std::ranges::find(sections_, static_cast<std::uint32_t>(id), &place_of_section::id);
    return at == sections_.end() ? nullptr : &*at;
  }
  [[nodiscard]] place_of_section const& require(section id) const {
    auto const* const found = find(id);
    if (found == nullptr) {
      damaged("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " is missing");
    }
    return *found;
  }

  void load(place_of_section const& part, std::span<std::byte> to) const {
    read_at(part.offset, to);
    if (checksum(to) != part.checksum) {
      damaged("is damaged: the checksum of section " + std::to_string(part.id) + " is another");
    }
  }

  void read_at(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
      constexpr std::size_t most = std::size_t{1} << 30;
      ssize_t const got = ::pread(file_.get(), to.data(), std::min(to.size(), most), static_cast<off_t>(offset));
      if (got > 0) {
        offset += static_cast<std::uint64_t>(got);
        to = to.subspan(static_cast<std::size_t>(got));
      } else if (got == 0 || errno != EINTR) {
        damaged(got == 0 ? "is cut short" : "cannot be read: " + tutti::detail::describe_errno(errno));
      }
    }
  }

  std::string name_;
  tutti::detail::descriptor file_;
  file_identity identity_;
  std::vector<place_of_section> sections_;
};

}  // namespace tutti::nn::detail
