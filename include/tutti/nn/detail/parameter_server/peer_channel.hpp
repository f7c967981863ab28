// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// One end of a channel between two ranks: a communicator of the two. So the loss of a rank ends only its own
/// channels. Counts the traffic, and records it with the world's tracer.
///
/// A step sends only a few messages, so the functions are virtual: servers and workers are compiled once for all
/// communicators.
class peer_channel {
 public:
  /// @param peer a rank of the world, with the name `name`
  peer_channel(rank_type self, rank_type peer, std::string name) : self_(self), peer_(peer), name_(std::move(name)) {}
  peer_channel(peer_channel const&) = delete;
  peer_channel& operator=(peer_channel const&) = delete;
  virtual ~peer_channel() = default;

  [[nodiscard]] traffic const& communication() const noexcept { return communication_; }
  /// The name of the peer, and its rank in the world.
  [[nodiscard]] std::string name() const { return name_ + " (rank " + std::to_string(peer_) + ")"; }
  /// Limits the time of waiting for a message.
  virtual void limit_wait(duration limit) noexcept = 0;

  template <class T>
  [[nodiscard]] request send(std::span<T const> elements) {
    ++communication_.messages_sent;
    communication_.bytes_sent += elements.size_bytes();
    return start_send(elements);
  }
  /// Starts a receive, and counts it.
  template <class T>
  [[nodiscard]] request receive(std::span<T> elements) {
    ++communication_.messages_received;
    communication_.bytes_received += elements.size_bytes();
    return start_receive(elements);
  }

  /// Translates an error of this channel to ranks of the world.
  [[nodiscard]] error translate(error const& e) const {
    error result(e.facts(), name() + " is lost to rank " + std::to_string(self_) + ": " + e.what());
    return result.set_ranks(self_, {peer_});
  }

 private:
  [[nodiscard]] virtual request start_send(std::span<float const> elements) = 0;
  [[nodiscard]] virtual request start_send(std::span<message const> elements) = 0;
  [[nodiscard]] virtual request start_send(std::span<report const> elements) = 0;
  [[nodiscard]] virtual request start_send(std::span<task const> elements) = 0;
  [[nodiscard]] virtual request start_send(std::span<figures const> elements) = 0;
  [[nodiscard]] virtual request start_receive(std::span<float> elements) = 0;
  [[nodiscard]] virtual request start_receive(std::span<message> elements) = 0;
  [[nodiscard]] virtual request start_receive(std::span<report> elements) = 0;
  [[nodiscard]] virtual request start_receive(std::span<task> elements) = 0;
  [[nodiscard]] virtual request start_receive(std::span<figures> elements) = 0;

  rank_type self_;
  rank_type peer_;
  std::string name_;
  traffic communication_;
};

/// The channels of one rank, and the functions of its world that it needs.
class channel_list {
 public:
  channel_list() = default;
  channel_list(channel_list const&) = delete;
  channel_list& operator=(channel_list const&) = delete;
  virtual ~channel_list() = default;

  [[nodiscard]] std::size_t size() const noexcept { return channels_.size(); }
  [[nodiscard]] peer_channel& operator[](std::size_t i) const noexcept { return *channels_[i]; }
  /// The bytes and messages of all channels.
  [[nodiscard]] traffic communication() const noexcept {
    traffic sum;
    for (auto const& channel : channels_) {
      sum += channel->communication();
    }
    return sum;
  }

  /// This rank in the world.
  [[nodiscard]] virtual rank_type rank() const noexcept = 0;
  [[nodiscard]] virtual time_point now() const = 0;
  /// The deadline of the world.
  [[nodiscard]] virtual duration deadline() const = 0;
  /// Records with the world's tracer.
  virtual void trace(event_kind kind, time_point time, std::string_view text) = 0;

  /// Makes progress on all channels.
  virtual void poll() = 0;
  /// Waits for the first request to end, as `when_any` does.
  /// @returns its index, or the number of requests after the limit
  [[nodiscard]] virtual std::size_t first_ended(std::span<request> requests, std::size_t first, duration limit) = 0;
  /// Makes `first_ended` wait for these channels and no others; at first it waits for all.
  /// @pre at least one
  virtual void watch(std::span<std::size_t const> channels) = 0;

 protected:
  void add(tutti::detail::owner<peer_channel> channel) { channels_.push_back(std::move(channel)); }

 private:
  std::vector<tutti::detail::owner<peer_channel>> channels_;
};

}  // namespace tutti::nn::parameter_server::detail
