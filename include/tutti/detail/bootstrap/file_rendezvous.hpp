// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/core/owned.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The name of the folder in which the ranks of a job meet: no other program has one of it, and no other user or job.
[[nodiscard]] TUTTI_DECL std::string meeting_folder(std::string_view job);

/// A rendezvous in a folder that all members see: of one host, or a shared file system that shows a new file to all
/// hosts soon. Constructing it is collective and returns when all have come.
///
/// All happens in a folder of the job's own below the given one, whose name is made of the user's number and the job's
/// name: several jobs meet in one place without seeing each other, and nothing of the user is touched. In that folder
/// only files are removed whose whole name is one that members give.
///
/// Leftovers of an earlier meeting of the job are never taken for this one's: rank 0 draws a session number and
/// takes only hellos that name it, and the others believe only an answer that names the number that they drew
/// themselves. A hello of another world size is refused, and rank 0 waits on. A second process of one rank ends the
/// meeting for all, from its beginning to the last exchange. Rank 0 removes old files; the last member to end, or to
/// hear that the meeting has failed, removes the rest, and the job's folder.
///
/// Members look for files in pauses that grow from 1 to 50 ms. Used by one thread at a time.
class file_rendezvous {
 public:
  /// @pre me.rank < me.size
  /// @throws error(failure::join) that names the ranks that are missing after me.patience, or that exist twice, on
  ///         every rank that rank 0 has seen; on a rank that it refuses, why
  file_rendezvous(std::string place, membership const& me);
  file_rendezvous(file_rendezvous const&) = delete;  // its end has a meaning
  file_rendezvous& operator=(file_rendezvous const&) = delete;
  ~file_rendezvous();

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// The number by which other hosts are likely to reach this one: files do not tell. @see net::outward_host
  [[nodiscard]] std::string local_host() const;

  /// Which hellos rank 0 has refused, and why. The first 64.
  [[nodiscard]] std::vector<std::string> refused() const;

  std::vector<std::string> exchange(std::string_view mine);

 private:
  class meeting;

  rank_type rank_;
  rank_type size_;
  owned<meeting> meeting_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/file_rendezvous.ipp>
#endif
