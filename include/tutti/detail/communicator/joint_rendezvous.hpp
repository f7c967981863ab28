// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

struct rank_state;

/// The text that a rank without a failure exchanges.
[[nodiscard]] TUTTI_DECL std::string joint_text(std::string_view content);
/// Maps members to the numbers that a failure names: those in the parent communicator, since a part that cannot be made
/// has none.
struct joint_numbers {
  rank_type self;                      ///< this rank's number in the rendezvous
  std::string communicator = {};       ///< the parent's name; empty: the members are a world
  std::vector<rank_type> parent = {};  ///< number of each member in the parent; empty: identical

  [[nodiscard]] rank_type number_of(rank_type r) const noexcept { return r < parent.size() ? parent[r] : r; }
};

/// The text that a failed rank exchanges: the current exception. If that names no rank at fault, names this one.
[[nodiscard]] TUTTI_DECL std::string joint_failure(joint_numbers const& numbers);
/// Replaces the texts of all ranks by their contents. @throws the failure of the first rank that failed
TUTTI_DECL void open_joint_texts(std::vector<std::string>& texts, joint_numbers const& numbers);
/// Throws the failure of the first failed rank if the current exception is a tutti::error; else rethrows that
/// exception.
[[noreturn]] TUTTI_DECL void throw_joint_failure(std::vector<std::string>& texts, joint_numbers const& numbers);

/// The members of a rendezvous that creating a communicator calls, as pointers; see `joint_meeting`.
struct rendezvous_calls {
  std::vector<std::string> (*exchange)(void*, std::string_view) = nullptr;
  rank_type (*world_rank)(void const*, rank_type) = nullptr;
  world_secret (*secret)(void const*) = nullptr;
  std::string (*local_host)(void const*) = nullptr;  ///< null, like the next five, if the rendezvous has none
  std::string (*node)(void const*) = nullptr;
  std::string (*name)(void const*) = nullptr;
  rank_state const& (*whole)(void const*) = nullptr;
  std::vector<rank_type> (*parent_ranks)(void const*) = nullptr;
  rank_type (*parent_rank)(void const*, rank_type) = nullptr;

  template <class Meet>
  [[nodiscard]] static constexpr rendezvous_calls make() noexcept {
    using meeting_type = Meet;
    rendezvous_calls calls{
        .exchange = [](void* object,
                       std::string_view text) { return static_cast<meeting_type*>(object)->exchange(text); },
        .world_rank = [](void const* object,
                         rank_type r) { return detail::world_rank(*static_cast<meeting_type const*>(object), r); },
        .secret = [](void const* object) { return secret_of(*static_cast<meeting_type const*>(object)); }};
    if constexpr (requires(meeting_type const& meet) { meet.local_host(); }) {
      calls.local_host = [](void const* object) -> std::string {
        return static_cast<meeting_type const*>(object)->local_host();
      };
    }
    if constexpr (requires(meeting_type const& meet) { meet.node(); }) {
      calls.node = [](void const* object) -> std::string { return static_cast<meeting_type const*>(object)->node(); };
    }
    if constexpr (requires(meeting_type const& meet) { meet.name(); }) {
      calls.name = [](void const* object) -> std::string { return static_cast<meeting_type const*>(object)->name(); };
    }
    if constexpr (requires(meeting_type const& meet) { access::whole(meet); }) {
      calls.whole = [](void const* object) -> rank_state const& {
        return access::whole(*static_cast<meeting_type const*>(object));
      };
    }
    if constexpr (requires(meeting_type const& meet) { meet.parent_ranks(); }) {
      calls.parent_ranks = [](void const* object) -> std::vector<rank_type> {
        return static_cast<meeting_type const*>(object)->parent_ranks();
      };
    }
    if constexpr (requires(meeting_type const& meet, rank_type r) { meet.parent_rank(r); }) {
      calls.parent_rank = [](void const* object, rank_type r) {
        return static_cast<meeting_type const*>(object)->parent_rank(r);
      };
    }
    return calls;
  }
};

/// A rendezvous with its type erased, for creating a communicator. A rank that fails between two exchanges sends its
/// failure in the next one, and all ranks throw one error with that rank and its reason. So no rank leaves silently,
/// and none waits for one that left. The last act of creation is an exchange, too.
class joint_meeting {
 public:
  /// @pre `meeting` outlives this
  template <rendezvous Meet>
  explicit joint_meeting(Meet& meeting)
      : meeting_(&meeting), calls_(&calls_of<Meet>), rank_(meeting.rank()), size_(meeting.size()) {}

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  /// @throws error if a rank has failed, and exceptions of the rendezvous
  TUTTI_DECL std::vector<std::string> exchange(std::string_view text);
  /// Sends the current exception to all ranks, and throws the failure that they agree on. On this rank, exceptions
  /// other than tutti::error are rethrown unchanged.
  [[noreturn]] TUTTI_DECL void fail();

  [[nodiscard]] rank_type world_rank(rank_type r) const { return calls_->world_rank(meeting_, r); }
  /// The text that identifies this host; empty if the rendezvous knows none.
  [[nodiscard]] std::string node() const { return calls_->node != nullptr ? calls_->node(meeting_) : std::string(); }
  /// The communicator's name; "world" if the rendezvous gives none.
  [[nodiscard]] std::string name() const {
    return calls_->name != nullptr ? calls_->name(meeting_) : std::string("world");
  }
  /// The secret that the members share; none if the rendezvous has none.
  [[nodiscard]] world_secret secret() const { return calls_->secret(meeting_); }
  /// The communicator of the members, or null.
  [[nodiscard]] rank_state const* whole() const {
    return calls_->whole != nullptr ? &calls_->whole(meeting_) : nullptr;
  }
  /// The members' numbers in their communicator, or in the one that failed before; empty if there is none.
  [[nodiscard]] std::vector<rank_type> parent_ranks() const {
    return calls_->parent_ranks != nullptr ? calls_->parent_ranks(meeting_) : std::vector<rank_type>();
  }
  /// @pre the members are those of a communicator
  [[nodiscard]] rank_type parent_rank(rank_type r) const { return calls_->parent_rank(meeting_, r); }
  /// The number of member r in errors.
  [[nodiscard]] rank_type reported_rank(rank_type r) const { return numbers().number_of(r); }

 protected:
  [[nodiscard]] std::string host() const { return calls_->local_host(meeting_); }

 private:
  template <class Meet>
  static constexpr rendezvous_calls calls_of = rendezvous_calls::make<Meet>();

  [[nodiscard]] TUTTI_DECL joint_numbers numbers() const;

  void* meeting_;
  rendezvous_calls const* calls_;
  rank_type rank_;
  rank_type size_;
  bool is_broken_ = false;  ///< no further exchange can succeed
};

/// A joint meeting for opening a transport. Its type has only what transports ask at compile time, so that their code
/// is compiled once for all launchers, and once for all parts of communicators.
///
/// @tparam OneHost all members are on one host
/// @tparam LocatesHosts the rendezvous has a `local_host`
/// @tparam Whole the transport that already connects the members, or void
template <bool OneHost, bool LocatesHosts, class Whole>
class joint_rendezvous : public joint_meeting {
 public:
  static constexpr bool one_host = OneHost;

  template <rendezvous Meet>
  explicit joint_rendezvous(Meet& meeting) : joint_meeting(meeting) {
    if constexpr (has_whole) {
      whole_ = &meeting.transport();
    }
  }

  [[nodiscard]] std::string local_host() const
    requires LocatesHosts
  {
    return this->host();
  }
  [[nodiscard]] auto& transport() const
    requires(!std::is_void_v<Whole>)
  {
    return *whole_;
  }

 private:
  static constexpr bool has_whole = !std::is_void_v<Whole>;

  Whole* whole_ = nullptr;
};

template <class Meet>
struct transport_of_members {
  using type = void;
};
template <class Meet>
  requires requires(Meet const& m) { m.transport(); }
struct transport_of_members<Meet> {
  using type = std::remove_reference_t<decltype(std::declval<Meet const&>().transport())>;
};

template <class Meet>
joint_rendezvous(Meet&) -> joint_rendezvous<on_one_host<Meet>, requires(Meet const& m) { m.local_host(); },
                                            typename transport_of_members<Meet>::type>;

/// The meeting of processes or threads started by this host.
using joint_of_one_host = joint_rendezvous<true, false, void>;
/// The meeting of processes started by a launcher, and of the survivors of a world.
using joint_of_hosts = joint_rendezvous<false, true, void>;
/// The meeting of a part of a communicator.
template <class Transport>
using joint_of_part = joint_rendezvous<false, requires(Transport const& t) { t.local_host(); }, Transport>;

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/joint_rendezvous.ipp>
#endif
