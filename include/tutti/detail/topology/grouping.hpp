// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/topology.hpp>

namespace tutti::inline v0_1_0::detail::inline topology {

/// A partition of n ranks into groups, such as hosts. The members of a group are numbered from 0 on, in the order of
/// their ranks.
template <class G>
concept grouping =
    std::copyable<G> && requires(G const g, rank_type n, rank_type k, rank_type i, std::uint32_t identity,
                                 char (&text)[call::text], void (&f)(rank_type)) {
      { G::in_rank_order } -> std::convertible_to<bool>;  // true if each group is an interval of ranks
      { g.groups(n) } -> std::same_as<rank_type>;         // the number of groups
      { g.group(n, k) } -> std::same_as<rank_type>;       // the group of rank k
      { g.local(n, k) } -> std::same_as<rank_type>;       // the number of rank k in its group
      { g.size(n, k) } -> std::same_as<rank_type>;        // the size of group k
      { g.member(n, k, i) } -> std::same_as<rank_type>;   // member i of group k
      { g.for_each_size(n, f) } -> std::same_as<void>;    // calls f once for each size that a group has
      { g.label(identity, text) } -> std::same_as<void>;  // writes the name of the grouping in errors
    };

/// Writes words and a number, cut off at the length of a label.
constexpr void put_label(char (&target)[call::text], std::string_view words, std::uint32_t number, std::uint32_t base) {
  char digits[10] = {};
  std::size_t count = 0;
  do {
    digits[count++] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  std::size_t length = words.copy(target, call::text - 1);
  while (count > 0 && length + 1 < call::text) {
    target[length++] = digits[--count];
  }
  target[length] = 0;
}

/// Groups of `group_size` consecutive ranks; the last group may be smaller.
class consecutive {
 public:
  static constexpr bool in_rank_order = true;

  /// @throws precondition_error for empty groups
  constexpr explicit consecutive(rank_type group_size) : group_size_(group_size) {
    expects(
        group_size != 0,
        "hierarchical: a group must have 1 rank or more, not 0; give the ranks per host, such as world.local_size()");
  }

  [[nodiscard]] constexpr rank_type groups(rank_type n) const noexcept { return (n - 1) / group_size_ + 1; }
  [[nodiscard]] constexpr rank_type group(rank_type, rank_type r) const noexcept { return r / group_size_; }
  [[nodiscard]] constexpr rank_type local(rank_type, rank_type r) const noexcept { return r % group_size_; }
  [[nodiscard]] constexpr rank_type size(rank_type n, rank_type group) const noexcept {
    return n - group * group_size_ < group_size_ ? n - group * group_size_ : group_size_;
  }
  [[nodiscard]] constexpr rank_type member(rank_type, rank_type group, rank_type i) const noexcept {
    return group * group_size_ + i;
  }
  template <class F>
  constexpr void for_each_size(rank_type n, F f) const {
    if (n >= group_size_) {
      f(group_size_);
    }
    if (n % group_size_ != 0) {
      f(n % group_size_);
    }
  }
  constexpr void label(std::uint32_t, char (&text)[call::text]) const { put_label(text, "hosts of ", group_size_, 10); }

 private:
  rank_type group_size_;
};

/// The hosts of a map, of any sizes; the ranks of a host need not be consecutive.
///
/// @pre the map outlives this object
class by_host {
 public:
  static constexpr bool in_rank_order = false;  // known at run time only

  constexpr explicit by_host(host_map const& map) noexcept : map_(&map) {}

  /// @throws precondition_error if the map is that of another world
  [[nodiscard]] constexpr rank_type groups(rank_type n) const {
    expects(n == map_->ranks(), "hierarchical: the map of hosts is of ", map_->ranks(), " ranks, and the world has ", n,
            "; give the hosts() of that world");
    return map_->hosts();
  }
  [[nodiscard]] constexpr rank_type group(rank_type, rank_type r) const noexcept { return map_->host(r); }
  [[nodiscard]] constexpr rank_type local(rank_type, rank_type r) const noexcept { return map_->local(r); }
  [[nodiscard]] constexpr rank_type size(rank_type, rank_type group) const noexcept {
    return static_cast<rank_type>(map_->members(group).size());
  }
  [[nodiscard]] constexpr rank_type member(rank_type, rank_type group, rank_type i) const noexcept {
    return map_->members(group).data()[i];
  }
  template <class F>
  constexpr void for_each_size(rank_type, F f) const {
    for (rank_type const size : map_->sizes()) {
      f(size);
    }
  }
  /// Writes the hash, because two maps with groups of equal sizes can place the ranks differently.
  constexpr void label(std::uint32_t identity, char (&text)[call::text]) const {
    put_label(text, "hosts ", identity >> 8, 16);
  }

 private:
  host_map const* map_;
};

}  // namespace tutti::detail::topology
