// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// An operation that consists of others, its parts. They are in no list, and advance with it alone, all in each turn.
/// It ends when all of them have ended, with the error of the first one that has failed.
///
/// A part that follows another one begins when the other has ended without an error. It is prepared at that time. An
/// operation may begin without parts, and search for them in each turn.
class joint_operation : public untyped_operation {
 protected:
  /// Functions of the derived class. The last two are null if it never searches.
  struct hooks {
    /// Prepares a part that follows another one. May throw.
    void (*make_room)(untyped_operation& part, untyped_operation& previous);
    /// Adds the parts of an operation that has none, or ends it, or leaves it as it is. May throw.
    void (*search)(joint_operation&) = nullptr;
    /// Answers ranks that ask which rank an operation without parts waits for. `blocks`: the program waits for it.
    void (*report_search)(joint_operation&, bool blocks) = nullptr;
  };

  /// @param pool keeps the operation between two starts
  TUTTI_DECL joint_operation(rank_state& state, operation_pool* pool, hooks const& callbacks);
  TUTTI_DECL ~joint_operation();

  /// Removes all parts.
  TUTTI_DECL void clear();
  /// Adds a part, which has started and outlives this.
  TUTTI_DECL void add(untyped_operation& part, bool follows);

 private:
  static joint_operation& self(untyped_operation& base) noexcept { return static_cast<joint_operation&>(base); }
  static joint_operation const& self(untyped_operation const& base) noexcept {
    return static_cast<joint_operation const&>(base);
  }
  [[nodiscard]] TUTTI_DECL static functions const& table() noexcept;
  [[nodiscard]] TUTTI_DECL bool advance_parts();
  void take_error(untyped_operation const& part) noexcept {
    if (part.error_ && !error_) {
      error_ = part.error_;
    }
  }
  [[nodiscard]] TUTTI_DECL untyped_operation const* late_part() const noexcept;

  untyped_operation* last_part_ = nullptr;
  hooks hooks_;
};

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/joint_operation.ipp>
#endif
