// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/core/owner.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The name of the folder in which the ranks of a job meet. It is unique to this library, user and job.
[[nodiscard]] TUTTI_DECL std::string meeting_folder(std::string_view job);

/// A rendezvous in a folder that all members see, on one host or on a shared file system that soon shows new files to
/// all hosts. Construction is collective and returns when all have joined.
///
/// All files are in a folder of the job below the given one. Its name consists of the user's number and the job's
/// name, so several jobs can meet in one place and no file of the user is touched. In that folder only files are
/// removed whose whole name is one that members give.
///
/// Leftovers of an earlier meeting of the job are never mistaken for this one's: rank 0 draws a session number and
/// accepts only hellos that name it, and the others accept only answers that name the number they drew themselves. A
/// hello of another world size is refused, and rank 0 keeps waiting. A second process of one rank fails the meeting
/// for all, from its beginning to the last exchange. Rank 0 removes old files. The last member to end, or to hear that
/// the meeting has failed, removes the rest and the job's folder.
///
/// With a secret, files and marks carry proofs, and others count as missing. Another program of this user can delay a
/// meeting or end it by removing files, but not take a seat or change a text. It may put back a file by which rank 0 of
/// an earlier meeting began: rank 0 writes its own again, and fails only if that other rank 0 answers.
///
/// Members poll for files with pauses that grow from 1 to 50 ms. Used by one thread at a time.
class file_rendezvous {
 public:
  /// @pre me.rank < me.size
  /// @throws error(failure::join) that names the ranks that are missing after me.patience, or that exist twice, on
  ///         every rank that rank 0 has seen; a refused rank is told why
  file_rendezvous(std::string place, membership const& me);
  file_rendezvous(file_rendezvous const&) = delete;  // the destructor says bye
  file_rendezvous& operator=(file_rendezvous const&) = delete;
  ~file_rendezvous();

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// The address by which other hosts are likely to reach this one; a guess, as files tell nothing.
  /// @see net::outward_host
  [[nodiscard]] std::string local_host() const;

  /// The first 64 hellos that rank 0 has refused, and the first 16 files that count as missing, with reasons.
  [[nodiscard]] std::vector<std::string> refusals() const;

  std::vector<std::string> exchange(std::string_view text);

 private:
  class meeting;

  rank_type rank_;
  rank_type size_;
  owner<meeting> meeting_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/file_rendezvous.ipp>
#endif
