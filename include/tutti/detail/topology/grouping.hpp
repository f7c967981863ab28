// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/topology.hpp>

namespace tutti::inline v0_1_0::detail::inline topology {

/// Puts n ranks into groups, such as hosts. The members of a group are numbered from 0 on, in the order
/// of their ranks.
template <class G>
concept grouping =
    std::copyable<G> && requires(G const g, rank_type n, rank_type k, rank_type i, std::uint32_t identity,
                                 char (&text)[call::text], void (&f)(rank_type)) {
      { G::in_rank_order } -> std::convertible_to<bool>;  // each group is an interval of ranks
      { g.groups(n) } -> std::same_as<rank_type>;
      { g.group(n, k) } -> std::same_as<rank_type>;       // of rank k
      { g.local(n, k) } -> std::same_as<rank_type>;       // rank k's number in its group
      { g.size(n, k) } -> std::same_as<rank_type>;        // of group k
      { g.member(n, k, i) } -> std::same_as<rank_type>;   // member i of group k
      { g.each_size(n, f) } -> std::same_as<void>;        // calls f once for each size that a group has
      { g.label(identity, text) } -> std::same_as<void>;  // how a grouping with this hash is called in errors
    };

/// Writes words and a number, as much as there is room for.
constexpr void put_label(char (&to)[call::text], std::string_view words, std::uint32_t number, std::uint32_t base) {
  char digits[10] = {};
  std::size_t left = 0;
  do {
    digits[left++] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  std::size_t at = words.copy(to, call::text - 1);
  while (left > 0 && at + 1 < call::text) {
    to[at++] = digits[--left];
  }
  to[at] = 0;
}

/// Groups of `each` consecutive ranks; the ranks that are left make a last, smaller one.
class consecutive {
 public:
  static constexpr bool in_rank_order = true;

  /// @throws precondition_error for empty groups
  constexpr explicit consecutive(rank_type each) : each_(each) {
    expects(
        each != 0,
        "hierarchical: a group must have 1 rank or more, not 0; give the ranks per host, such as world.local_size()");
  }

  [[nodiscard]] constexpr rank_type groups(rank_type n) const noexcept { return (n - 1) / each_ + 1; }
  [[nodiscard]] constexpr rank_type group(rank_type, rank_type r) const noexcept { return r / each_; }
  [[nodiscard]] constexpr rank_type local(rank_type, rank_type r) const noexcept { return r % each_; }
  [[nodiscard]] constexpr rank_type size(rank_type n, rank_type group) const noexcept {
    return n - group * each_ < each_ ? n - group * each_ : each_;
  }
  [[nodiscard]] constexpr rank_type member(rank_type, rank_type group, rank_type i) const noexcept {
    return group * each_ + i;
  }
  template <class F>
  constexpr void each_size(rank_type n, F f) const {
    if (n >= each_) {
      f(each_);
    }
    if (n % each_ != 0) {
      f(n % each_);
    }
  }
  constexpr void label(std::uint32_t, char (&text)[call::text]) const { put_label(text, "hosts of ", each_, 10); }

 private:
  rank_type each_;
};

/// The hosts of a map, whatever their sizes and wherever their ranks are.
///
/// @pre the map outlives it
class by_host {
 public:
  static constexpr bool in_rank_order = false;  // not known before the program runs

  constexpr explicit by_host(host_map const& map) noexcept : map_(&map) {}

  /// @throws precondition_error if the map is another world's
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
  constexpr void each_size(rank_type, F f) const {
    for (rank_type const size : map_->sizes()) {
      f(size);
    }
  }
  /// Its sizes need not differ from those of another map that puts the ranks elsewhere.
  constexpr void label(std::uint32_t identity, char (&text)[call::text]) const {
    put_label(text, "hosts ", identity >> 8, 16);
  }

 private:
  host_map const* map_;
};

}  // namespace tutti::detail::topology
