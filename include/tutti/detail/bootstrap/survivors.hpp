// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The rendezvous of the survivors of a world, and of newcomers, over connections between the lowest of them, the host,
/// and each other one. If one ends later, exchanges fail on all. Used by one thread at a time.
class survivors {
 public:
  /// @param rank this rank's number among them
  /// @param members ranks in the world before; no_rank for a newcomer
  /// @param lines on the host the connections to all others in rank order; on the others the one to the host
  survivors(rank_type rank, std::vector<rank_type> members, std::vector<channel> lines, duration patience);

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members_.size()); }

  /// The address by which the others reach this host.
  [[nodiscard]] std::string const& local_host() const noexcept { return host_; }
  void local_host(std::string host) { host_ = std::move(host); }

  /// The name of the new world; rank 0's counts.
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  void name(std::string text) { name_ = std::move(text); }

  /// The secret of the world before, or none.
  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }
  void secret(world_secret const& value) { secret_ = value; }

  /// The ranks of the members in the world before; no_rank for newcomers.
  [[nodiscard]] std::vector<rank_type> const& parent_ranks() const noexcept { return members_; }

  std::vector<std::string> exchange(std::string_view text);

  /// Adds newcomers after the last rank. Collective over the survivors.
  /// @param lines on the host the connections to them
  void add(rank_type count, std::vector<channel> lines);
  /// Tells newcomers that the survivors use the new world. Does nothing except on the host.
  void tell_newcomers();
  /// Waits until the host says that the survivors use the new world. Called by newcomers.
  /// @throws error(failure::join) if they do not
  void await_result();

 private:
  std::vector<std::string> serve(std::string_view text);
  std::vector<std::string> ask(std::string_view text);

  [[nodiscard]] std::vector<rank_type> at_fault(rank_type rank) const;
  [[nodiscard]] std::string description(rank_type rank) const;

  std::vector<rank_type> members_;  ///< ranks in the world before
  rank_type rank_;
  std::vector<channel> lines_;
  duration patience_;
  std::string name_;
  std::string host_;
  world_secret secret_;
};

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/survivors.ipp>
#endif
