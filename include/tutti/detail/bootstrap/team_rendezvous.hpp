// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/packing.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The rendezvous of threads of several processes: the threads of process 0 have the first ranks, and so on. Each
/// process may have any number of threads; its thread 0 talks to the other processes.
///
/// `Seat` is the rendezvous of the threads of a process, `Processes` that of the processes.
template <class Seat, class Processes>
class team_rendezvous {
 public:
  static constexpr bool one_host = on_one_host<Processes>;

  /// Collective over all threads. Only thread 0 of each process exchanges texts by `processes`.
  /// @throws the errors of both rendezvous
  team_rendezvous(Seat& seat, Processes& processes) : seat_(&seat), processes_(&processes) {
    auto const facts = relay([&] {
      std::vector<std::string> texts{"", ""};
      if constexpr (knows_host) {
        texts[0] = processes.local_host();
      }
      if constexpr (knows_node) {
        texts[1] = processes.node();
      }
      texts.push_back(packer().number(processes.rank()).take());
      for (std::string& threads : processes.exchange(packer().number(seat.size()).take())) {
        texts.push_back(std::move(threads));
      }
      return texts;
    });
    host_ = facts[0];
    node_ = facts[1];
    auto const number = [&facts](std::size_t i) { return unpacker(facts[i]).template number_as<rank_type>(); };
    rank_type const process = number(2);
    rank_ = seat.rank();
    for (rank_type p = 0; p + 3 < facts.size(); ++p) {
      size_ += number(p + 3);
      rank_ += p < process ? number(p + 3) : 0;
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return size_; }

  std::vector<std::string> exchange(std::string_view text) {
    auto const local_texts = seat_->exchange(text);
    return relay([&] {
      std::vector<std::string> all_texts;
      for (std::string const& process_texts : processes_->exchange(packer().texts(local_texts).take())) {
        for (std::string& rank_text : unpacker(process_texts).texts()) {
          all_texts.push_back(std::move(rank_text));
        }
      }
      return all_texts;
    });
  }

  /// The value of the processes' rendezvous.
  [[nodiscard]] std::string const& local_host() const noexcept
    requires requires(Processes const& p) { p.local_host(); }
  {
    return host_;
  }
  [[nodiscard]] std::string const& node() const noexcept
    requires requires(Processes const& p) { p.node(); }
  {
    return node_;
  }

  /// The secret of the processes, or none.
  [[nodiscard]] world_secret secret() const { return secret_of(*processes_); }

 private:
  static constexpr bool knows_host = requires(Processes const& p) { p.local_host(); };
  static constexpr bool knows_node = requires(Processes const& p) { p.node(); };

  /// Returns the result of `f` on thread 0 to all threads.
  template <class F>
  std::vector<std::string> relay(F f) {
    std::string message;
    if (seat_->rank() == 0) {
      message = packer().texts(f()).take();
    }
    return unpacker(seat_->exchange(message)[0]).texts();
  }

  Seat* seat_;
  Processes* processes_;
  rank_type rank_ = 0;
  rank_type size_ = 0;
  std::string host_;
  std::string node_;
};

}  // namespace tutti::detail::bootstrap
