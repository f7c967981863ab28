// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/collective/group_rendezvous.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/collective/when_any.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel_trace.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/roles.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

template <class Communicator>
struct pair_communicator;
template <class Transport, rank_type N, class Trace>
struct pair_communicator<communicator<Transport, N, Trace>> {
  using type = communicator<Transport, dynamic, peer_channel_trace<Trace>>;
};

/// A channel in a world of this type.
template <group Communicator>
class typed_channel final : public peer_channel {
 public:
  using communicator_type = typename pair_communicator<Communicator>::type;

  /// Collective over the two ranks, in the same order everywhere.
  /// @param peer a rank of the world, with the name `name`
  typed_channel(Communicator& world, rank_type peer, std::string const& own_name, std::string name)
      : peer_channel(world.rank(), peer, std::move(name)),
        pair_(connect(world, peer, own_name)),
        send_(*pair_),
        receive_(*pair_) {
    receive_.deadline(world.deadline());
  }

  [[nodiscard]] communicator_type& communicator() const noexcept { return *pair_; }
  void limit_wait(duration limit) noexcept override { receive_.deadline(limit); }

 private:
  static tutti::detail::owner<communicator_type> connect(Communicator& world, rank_type peer,
                                                         std::string const& own_name) {
    bool const first = world.rank() < peer;
    group_rendezvous meet(world, first ? std::vector{world.rank(), peer} : std::vector{peer, world.rank()},
                          first ? 0U : 1U);
    auto settings = world.settings();
    settings.role = own_name + ", rank " + std::to_string(world.rank()) + " of the world,";
    return tutti::detail::owner<communicator_type>(
        new communicator_type(meet, settings, {world.trace(), world.rank(), peer}));
  }
  [[nodiscard]] rank_type other() const noexcept { return 1 - pair_->rank(); }

  request start_send(std::span<float const> elements) override { return send_.start(elements, other()); }
  request start_send(std::span<message const> elements) override { return send_.start(elements, other()); }
  request start_send(std::span<report const> elements) override { return send_.start(elements, other()); }
  request start_send(std::span<task const> elements) override { return send_.start(elements, other()); }
  request start_send(std::span<figures const> elements) override { return send_.start(elements, other()); }
  request start_receive(std::span<float> elements) override { return receive_.start(elements, other()); }
  request start_receive(std::span<message> elements) override { return receive_.start(elements, other()); }
  request start_receive(std::span<report> elements) override { return receive_.start(elements, other()); }
  request start_receive(std::span<task> elements) override { return receive_.start(elements, other()); }
  request start_receive(std::span<figures> elements) override { return receive_.start(elements, other()); }

  tutti::detail::owner<communicator_type> pair_;
  tutti::send<communicator_type> send_;
  tutti::recv<communicator_type> receive_;
};

/// The channels of a rank in a world of this type.
template <group Communicator>
class typed_channels final : public channel_list {
  using communicator_type = typename typed_channel<Communicator>::communicator_type;

 public:
  explicit typed_channels(Communicator& world) : world_(world.alias()) {}

  /// Collective over this rank and its peer, in the same order everywhere.
  void connect(roles const& roles, rank_type peer) {
    auto* const channel = new typed_channel<Communicator>(world_, peer, roles.name(world_.rank()), roles.name(peer));
    add(tutti::detail::owner<peer_channel>(channel));
    pairs_.push_back(&channel->communicator());
  }

  [[nodiscard]] rank_type rank() const noexcept override { return world_.rank(); }
  [[nodiscard]] time_point now() const override { return world_.transport().now(); }
  [[nodiscard]] duration deadline() const override { return world_.deadline(); }
  void trace(event_kind kind, time_point time, std::string_view text) override {
    record(world_.trace(), [&] { return event{.kind = kind, .time = time, .text = text}; });
  }

  void poll() override {
    for (communicator_type* const pair : pairs_) {
      pair->poll();
    }
  }
  [[nodiscard]] std::size_t first_ended(std::span<request> requests, std::size_t first, duration limit) override {
    if (!when_any_) {
      when_any_.emplace(pairs_);
    }
    return (*when_any_)(requests, first, limit);
  }
  void watch(std::span<std::size_t const> channels) override {
    std::vector<communicator_type*> communicators;
    for (std::size_t const i : channels) {
      communicators.push_back(pairs_[i]);
    }
    when_any_.emplace(communicators);
  }

 private:
  Communicator world_;
  std::vector<communicator_type*> pairs_;
  std::optional<when_any<communicator_type>> when_any_;
};

/// Connects this rank's channels between servers and workers.
template <group Communicator>
[[nodiscard]] tutti::detail::owner<channel_list> connect(Communicator& world, roles const& roles) {
  tutti::detail::owner<typed_channels<Communicator>> channels(new typed_channels<Communicator>(world));
  for (rank_type k = 0; k != roles.servers(); ++k) {
    for (rank_type w = 0; w != roles.workers(); ++w) {
      rank_type const other = roles.rank_of_worker(w);
      if (world.rank() == k || world.rank() == other) {
        channels->connect(roles, world.rank() == k ? other : k);
      }
    }
  }
  return tutti::detail::owner<channel_list>(channels.release());
}

/// Connects this rank's channels between server 0, which gathers the figures, and the other servers.
template <group Communicator>
[[nodiscard]] tutti::detail::owner<channel_list> connect_servers(Communicator& world, roles const& roles) {
  tutti::detail::owner<typed_channels<Communicator>> channels(new typed_channels<Communicator>(world));
  for (rank_type k = 1; k != roles.servers(); ++k) {
    if (world.rank() == 0 || world.rank() == k) {
      channels->connect(roles, world.rank() == 0 ? k : 0);
    }
  }
  return tutti::detail::owner<channel_list>(channels.release());
}

/// Gathers the figures of all servers on server 0.
[[nodiscard]] inline std::vector<figures> gather(roles const& roles, channel_list const& among_servers,
                                                 figures const& local_figures) {
  std::vector<figures> server_figures(roles.servers());
  server_figures[0] = local_figures;
  if (among_servers.rank() != 0) {
    among_servers[0].send(std::span<figures const>(&local_figures, 1)).wait();
    return {};
  }
  for (rank_type k = 1; k != roles.servers(); ++k) {
    among_servers[k - 1].receive(std::span(&server_figures[k], 1)).wait();
  }
  return server_figures;
}

}  // namespace tutti::nn::parameter_server::detail
