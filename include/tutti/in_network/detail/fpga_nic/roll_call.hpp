// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/types.hpp>
#include <tutti/in_network/detail/fpga_nic/exchange.hpp>
#include <tutti/in_network/detail/udp/port.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Which ranks of another rack are there. A rack's device hears that another rack is not complete, and not which of its
/// ranks are missing: these are asked themselves. One that has contributed answers.
template <port Port>
class roll_call {
 public:
  using address = typename Port::address;

  /// @param all the addresses of the members, in rank order
  roll_call(Port& by, std::uint32_t nonce, std::vector<address> all) : port_(by), nonce_(nonce), all_(std::move(all)) {}

  /// Asks some of those that the oldest piece of a lane is not known to have.
  void call(exchange const& x, std::uint32_t lane) {
    std::size_t missing = 0;
    x.each_missing([&](rank_type) { ++missing; });
    if (missing == 0) {
      return;
    }
    std::size_t const first = missing <= most_at_once ? 0 : next_ % missing;
    std::size_t k = 0;
    x.each_missing([&](rank_type r) {
      if ((k++ + missing - first) % missing < most_at_once) {
        say(r, x.head_of(kind::ask, x.front(), lane, given_to::stand_in));
      }
    });
    next_ = first + most_at_once;
  }
  /// Answers such a question. False: this rank has not contributed to that, or it is no question of a worker.
  bool answer(exchange const& x, address const& from, header h) {
    rank_type const asker = worker_at(x, from, h);
    std::uint32_t const i = x.piece_of(h.sequence);
    bool const is_given = i != exchange::none && x.at(i).at != given_to::none;
    if (asker == no_rank || x.part().worker == no_rank || !(is_given || x.find_kept(h.sequence) != nullptr)) {
      return false;
    }
    h.kind = kind::progress;
    h.worker = static_cast<std::uint8_t>(x.part().worker);
    say(asker, h);
    return true;
  }
  /// Takes an answer. False: it is none, or about something else.
  bool take(exchange& x, address const& from, header const& h) const {
    if (x.piece_of(h.sequence) != x.front() || worker_at(x, from, h) == no_rank) {
      return false;
    }
    x.confirm(h.worker);
    return true;
  }

 private:
  static constexpr std::size_t most_at_once = 4;

  /// The rank of a packet's sender, if it is the worker that it says, or no_rank.
  [[nodiscard]] rank_type worker_at(exchange const& x, address const& from, header const& h) const noexcept {
    auto const& workers = x.part().workers;
    bool const is_one =
        h.workers == workers.size() && h.worker < workers.size() && all_[workers[h.worker].rank] == from;
    return is_one ? workers[h.worker].rank : no_rank;
  }
  void say(rank_type to, header h) {
    h.job = nonce_;
    h.length = 0;
    port_.send(all_[to], h, {});
  }

  Port& port_;
  std::uint32_t nonce_;
  std::vector<address> all_;
  std::size_t next_ = 0;  ///< of those that are missing, where there are many
};

}  // namespace tutti::detail::fpga_nic
