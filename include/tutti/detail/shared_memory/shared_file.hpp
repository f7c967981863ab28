// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Returns 16 hexadecimal digits that no other world on this host has.
[[nodiscard]] TUTTI_DECL std::string unique_text();

/// The alignment of mappings.
[[nodiscard]] TUTTI_DECL std::size_t page_bytes() noexcept;

/// Memory that several processes of this host map. It has no name (memfd_create) and lasts until the last of them ends,
/// however that happens. No process can shrink it, so mapped memory stays valid.
class shared_file {
 public:
  shared_file() noexcept = default;
  shared_file(shared_file const&) = delete;
  shared_file& operator=(shared_file const&) = delete;
  TUTTI_DECL ~shared_file();

  /// Makes the file. Its bytes must be reserved before use.
  TUTTI_DECL void create(std::size_t bytes);

  /// Commits bytes [begin, end), near the calling core. A shortage is an error now, not a SIGBUS later.
  TUTTI_DECL void reserve(std::uint64_t begin, std::uint64_t end) const;

  /// Maps a file that another process has made.
  TUTTI_DECL void adopt(descriptor file);

  /// A text that distinguishes it from all other files of this host.
  [[nodiscard]] std::string identity() const { return identity(file_); }
  [[nodiscard]] TUTTI_DECL static std::string identity(descriptor const& file);

  /// Commits bytes [begin, end), and extends the file to `end`. Returns the cause of a shortage, or "".
  [[nodiscard]] TUTTI_DECL std::string commit(std::uint64_t begin, std::uint64_t end) const;

  /// Maps bytes from `begin` on, committed or not. Returns null with an errno on failure.
  [[nodiscard]] TUTTI_DECL std::byte* map(std::uint64_t begin, std::size_t bytes) const noexcept;
  TUTTI_DECL static void unmap(std::byte* base, std::size_t bytes) noexcept;

  [[nodiscard]] int descriptor_to_hand() const noexcept { return file_.get(); }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }

 private:
  /// The reason why bytes [begin, end) cannot be committed, or "".
  [[nodiscard]] TUTTI_DECL static std::string shortage(std::uint64_t begin, std::uint64_t end);
  [[noreturn]] TUTTI_DECL static void refuse(std::uint64_t bytes, std::string const& reason);
  TUTTI_DECL void map_all();

  descriptor file_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/shared_file.ipp>
#endif
