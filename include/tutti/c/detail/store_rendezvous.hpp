// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::c {

/// The value of an environment variable, or nothing.
[[nodiscard]] inline std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// True if all members of a rendezvous are on one host, which TUTTI_NODE or the system identifies. Collective.
template <rendezvous Meet>
[[nodiscard]] bool are_on_one_host(Meet& meet) {
  std::string const node = meet.node();
  auto const nodes = meet.exchange(node.empty() ? node_identity() : node);
  return std::all_of(nodes.begin(), nodes.end(), [&](std::string const& other) { return other == nodes.front(); });
}

/// A rendezvous in a store of the caller's.
class store_rendezvous {
 public:
  /// @throws precondition_error if there is no such rank, or a function is missing
  store_rendezvous(tutti_store const& store, rank_type rank, rank_type size)
      : store_(store), rank_(rank), size_(size), secret_(read_secret(::environ, size)) {
    expects(store.set != nullptr && store.get != nullptr,
            "tutti_join_store: the store needs both functions, set and get");
    expects(rank < size, "tutti_join_store: the rank must be below the size of the world, ", size, ", not ", rank);
    if (std::string const folder = variable("TUTTI_DUMPS"); !folder.empty()) {
      dumps::begin(folder, rank);
    }
    record_owner::set_job(variable("TUTTI_JOB"));
    one_host_ = are_on_one_host(*this);
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view text) {
    std::string const round = "tutti/" + std::to_string(round_++) + "/";
    if (store_.set(store_.context, (round + std::to_string(rank_)).c_str(), text.data(), text.size()) != 0) {
      throw error(failure::join, "the store refused the text of rank " + std::to_string(rank_))
          .set_ranks(rank_, {rank_});
    }
    std::vector<std::string> texts;
    for (rank_type r = 0; r < size_; ++r) {
      texts.push_back(r == rank_ ? std::string(text) : get(round + std::to_string(r), r));
    }
    return texts;
  }

  /// The name of this host for other programs, or empty.
  [[nodiscard]] std::string node() const { return variable("TUTTI_NODE"); }
  /// The address by which other members reach this host.
  [[nodiscard]] std::string local_host() const {
    if (std::string const device = variable("TUTTI_INTERFACE"); !device.empty()) {
      return net::interface_address(device).host();
    }
    return one_host_ ? net::loopback_host() : net::outward_host();
  }
  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }

 private:
  [[nodiscard]] std::string get(std::string const& key, rank_type r) {
    std::string text(4096, '\0');
    for (;;) {
      std::int64_t const length = store_.get(store_.context, key.c_str(), text.data(), text.size());
      if (length < 0) {
        throw error(failure::join, "rank " + std::to_string(r) + " has put no text into the store in time")
            .set_ranks(rank_, {r});
      }
      bool const is_whole = static_cast<std::uint64_t>(length) <= text.size();
      text.resize(static_cast<std::size_t>(length));
      if (is_whole) {
        return text;
      }
    }
  }

  tutti_store store_;
  rank_type rank_;
  rank_type size_;
  std::uint32_t round_ = 0;
  bool one_host_ = false;
  world_secret secret_;
};

}  // namespace tutti::detail::c
