// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The training to which a folder of checkpoints belongs: random numbers.
struct folder_owner {
  std::array<std::uint64_t, 2> training{};  ///< drawn when the folder is begun, and found in each of its files
  std::uint64_t run = 0;                    ///< drawn each time that the training begins or continues

  friend bool operator==(folder_owner const&, folder_owner const&) = default;

  /// An owner with a new run. Without a training, that is drawn, too.
  [[nodiscard]] TUTTI_DECL static folder_owner draw(std::optional<std::array<std::uint64_t, 2>> training);
};

/// The lock of a folder of checkpoints, which the system releases when the process ends: an open file description lock
/// on a file, which also holds the owner of the folder, and the process and host that hold the lock. On a file system
/// without locks it excludes nobody; the owner is then the only protection.
class folder_lock {
 public:
  /// @throws checkpoint_error if the file cannot be opened
  explicit folder_lock(std::filesystem::path file);

  /// True if no other training holds the lock, as far as the file system knows.
  [[nodiscard]] bool is_held() const noexcept { return is_held_; }
  /// "process 12 on host a": the holder of the lock, as the file says.
  [[nodiscard]] std::string holder() const;

  /// Makes the folder that of an owner. The length of the file is always the same, so a full disk does not matter.
  /// @throws checkpoint_error
  void write(folder_owner const& owner) const;

  /// The owner that a file names; nothing if there is no such file, or another one.
  [[nodiscard]] static std::optional<folder_owner> read(std::filesystem::path const& file);

 private:
  std::filesystem::path name_;
  tutti::detail::descriptor file_;
  bool is_held_ = false;
};

}  // namespace tutti::nn::detail::checkpoint

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/checkpoint/folder_lock.ipp>
#endif
