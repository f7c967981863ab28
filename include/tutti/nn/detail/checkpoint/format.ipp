// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/detail/checkpoint/atomic_file.hpp>
#include <tutti/nn/detail/checkpoint/format.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <span>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

TUTTI_DECL section_file::section_file(std::filesystem::path const& name)
    : name_(name.string()), file_([&] { return ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }) {
  if (!file_) {
    fail("cannot be opened: " + tutti::detail::describe_errno(errno));
  }
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    fail("is a folder or a device, not a file");
  }
  file_head head;
  auto const size = static_cast<std::uint64_t>(status.st_size);
  if (size < sizeof head) {
    fail("is cut short: " + std::to_string(size) + " bytes");
  }
  read_at(0, std::as_writable_bytes(std::span(&head, 1)));
  if (head.magic != file_head::signature) {
    fail("is not a checkpoint of tutti");
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
  if (head.version == 0 || head.sections > file_head::max_sections) {
    fail("is damaged: its head says format " + std::to_string(head.version) + " and " + std::to_string(head.sections) +
         " sections, but at most " + std::to_string(file_head::max_sections) + " are allowed");
  }
  if (head.length != size) {
    fail(size < head.length ? "is cut short: " + std::to_string(size) + " of " + std::to_string(head.length) + " bytes"
                            : "is damaged: it has " + std::to_string(size) + " bytes, and its head says " +
                                  std::to_string(head.length));
  }
  check_table(head);
}

TUTTI_DECL std::string section_file::read_text(section id, std::uint64_t limit) const {
  auto const& part = required_section(id);
  if (part.length > limit) {
    fail("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " has " +
         std::to_string(part.length) + " bytes, more than " + std::to_string(limit));
  }
  std::string text(static_cast<std::size_t>(part.length), '\0');
  load(part, std::as_writable_bytes(std::span(text.data(), text.size())));
  return text;
}

TUTTI_DECL void section_file::fail(std::string const& reason) const {
  throw damaged_checkpoint(name_ + " " + reason);
}

TUTTI_DECL void section_file::check_table(file_head const& head) {
  std::vector<std::byte> front(sizeof head + head.sections * sizeof(table_entry));
  std::uint64_t offset = front.size() + sizeof(std::uint32_t);
  std::uint32_t sum = 0;
  if (offset > head.length) {
    fail("is damaged: its table ends at byte " + std::to_string(offset) + " of " + std::to_string(head.length));
  }
  read_at(0, front);
  read_at(front.size(), std::as_writable_bytes(std::span(&sum, 1)));
  if (sum != checksum(front)) {
    fail("is damaged: the checksum of its head is " + std::to_string(checksum(front)) + ", not " + std::to_string(sum));
  }
  for (std::size_t i = 0; i != head.sections; ++i) {
    table_entry entry;
    std::memcpy(&entry, front.data() + sizeof head + i * sizeof entry, sizeof entry);
    if (entry.length > head.length - offset) {
      fail("is damaged: section " + std::to_string(entry.id) + " of " + std::to_string(entry.length) +
           " bytes reaches beyond its end");
    }
    sections_.push_back({entry.id, entry.checksum, offset, entry.length});
    offset += entry.length;
  }
  if (offset != head.length) {
    fail("is damaged: its sections end at byte " + std::to_string(offset) + " of " + std::to_string(head.length));
  }
  identity_ = {head.length, sum};
}

TUTTI_DECL section_file::place_of_section const* section_file::find(section id) const noexcept {
  auto const at = std::ranges::find(sections_, static_cast<std::uint32_t>(id), &place_of_section::id);
  return at == sections_.end() ? nullptr : &*at;
}

TUTTI_DECL section_file::place_of_section const& section_file::required_section(section id) const {
  auto const* const entry = find(id);
  if (entry == nullptr) {
    fail("is damaged: section " + std::to_string(static_cast<std::uint32_t>(id)) + " is missing");
  }
  return *entry;
}

TUTTI_DECL void section_file::load(place_of_section const& part, std::span<std::byte> destination) const {
  read_at(part.offset, destination);
  if (std::uint32_t const sum = checksum(destination); sum != part.checksum) {
    fail("is damaged: the checksum of section " + std::to_string(part.id) + " is " + std::to_string(sum) + ", not " +
         std::to_string(part.checksum));
  }
}

TUTTI_DECL void section_file::read_at(std::uint64_t offset, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    constexpr std::size_t limit = std::size_t{1} << 30;
    ssize_t const byte_count =
        ::pread(file_.get(), destination.data(), (std::min)(destination.size(), limit), static_cast<off_t>(offset));
    if (byte_count > 0) {
      offset += static_cast<std::uint64_t>(byte_count);
      destination = destination.subspan(static_cast<std::size_t>(byte_count));
    } else if (byte_count == 0 || errno != EINTR) {
      fail(byte_count == 0 ? "is cut short" : "cannot be read: " + tutti::detail::describe_errno(errno));
    }
  }
}

TUTTI_DECL std::uint32_t checksum(std::span<std::byte const> bytes) noexcept {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<Bytef const*>(bytes.data()), bytes.size()));
}

TUTTI_DECL file_identity write_sections(std::filesystem::path const& name, std::span<section_bytes const> parts) {
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

}  // namespace tutti::nn::detail::checkpoint
