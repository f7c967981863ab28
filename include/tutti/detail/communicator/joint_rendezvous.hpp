// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/linkage.hpp>
#include <tutti/error.hpp>
#include <tutti/rendezvous.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail {

/// The text of a rank that takes part in an exchange: what it says.
[[nodiscard]] TUTTI_DECL std::string joint_text(std::string_view said);
/// The text of a rank that has failed: the exception that is being handled. If it names no rank at fault, it gets this
/// one.
[[nodiscard]] TUTTI_DECL std::string joint_failure(rank_type self);
/// Takes what all ranks say out of their texts. @throws the failure of the first rank that has failed
TUTTI_DECL void open_joint_texts(std::vector<std::string>& all, rank_type self);
/// Throws the failure of the first rank that has failed, if the exception that is being handled is a tutti::error; else
/// that exception.
[[noreturn]] TUTTI_DECL void throw_joint_failure(std::vector<std::string>& all, rank_type self);

/// A rendezvous as the making of a communicator sees it: a rank that fails between two exchanges takes part in the next
/// one with its failure, and all ranks get the same error, which names that rank and says why. So no rank leaves
/// without a word, and none waits for one that has. The last step of the making is an exchange, too.
template <rendezvous Meet>
class joint_rendezvous {
 public:
  static constexpr bool one_host = on_one_host<Meet>;

  explicit joint_rendezvous(Meet& by) noexcept : by_(&by) {}

  [[nodiscard]] rank_type rank() const { return by_->rank(); }
  [[nodiscard]] rank_type size() const { return by_->size(); }

  /// @throws error if a rank has failed; and what the rendezvous throws
  std::vector<std::string> exchange(std::string_view mine) {
    over_ = true;  // unless it succeeds
    std::vector<std::string> all = by_->exchange(joint_text(mine));
    open_joint_texts(all, rank());
    over_ = false;
    return all;
  }
  /// Tells the others the exception that is being handled, and throws the failure that all ranks agree on. Exceptions
  /// that are no tutti::error go on as they are on this rank.
  [[noreturn]] void fail() {
    if (over_) {
      throw;
    }
    over_ = true;
    std::vector<std::string> all{joint_failure(rank())};
    try {
      all = by_->exchange(all[0]);
    } catch (...) {  // it cannot be told; the others miss this rank
    }
    throw_joint_failure(all, rank());
  }

  [[nodiscard]] rank_type world_rank(rank_type r) const
    requires part_of_world<Meet>
  {
    return by_->world_rank(r);
  }
  [[nodiscard]] std::string local_host() const
    requires requires(Meet const& m) { m.local_host(); }
  {
    return by_->local_host();
  }
  [[nodiscard]] std::string node() const
    requires requires(Meet const& m) { m.node(); }
  {
    return by_->node();
  }
  [[nodiscard]] auto& transport() const
    requires requires(Meet const& m) { m.transport(); }
  {
    return by_->transport();
  }
  [[nodiscard]] rank_type parent_rank(rank_type r) const
    requires requires(Meet const& m) { m.parent_rank(r); }
  {
    return by_->parent_rank(r);
  }
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const
    requires requires(Meet const& m) { m.parent_ranks(); }
  {
    return by_->parent_ranks();
  }

 private:
  Meet* by_;
  bool over_ = false;  ///< no further exchange can succeed
};

}  // namespace tutti::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/impl/communicator/joint_rendezvous.ipp>
#endif
