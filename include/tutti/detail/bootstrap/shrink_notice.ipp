// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL void leave_notices(shrink_message const& message, std::vector<rank_type> const& left_out,
                              std::vector<net::address> const& places, net::proof_key const& key) {
  std::string text = message.text();
  if (key) {
    net::proof const tag = key.prove("notice", {text});
    text += net::text_of(tag);
  }
  struct notice {
    rank_type rank;
    channel line{};
    bool is_written = false;
    bool is_over = false;
  };
  std::vector<notice> notices;
  for (rank_type const r : left_out) {
    notices.push_back({r});
  }
  time_point const deadline = steady_now() + longest_notices;
  auto const advance = [&](notice& n) {
    pollfd entry{n.line.fd(), POLLOUT, 0};
    if (!n.line) {
      n.line = channel(net::begin_connect(places[n.rank]));
      n.is_over = !n.line && errno == ECONNREFUSED;  // the member is gone
    } else if (!n.is_written && ::poll(&entry, 1, 0) == 1) {
      int const code = net::connect_error(n.line.fd());
      if (code == ECONNREFUSED) {
        n.is_over = true;
      } else if (code != 0) {
        n.line.close();
      } else {
        n.line.queue(bootstrap_frame_kind::hello, text);
        n.is_written = true;
      }
    }
    if (n.is_written && !n.is_over) {
      bool const is_open = n.line.flush();
      n.is_over = is_open && n.line.is_flushed() && net::unacknowledged_bytes(n.line.fd()) == 0;
      if (!is_open) {
        n = {n.rank};
      }
    }
    return n.is_over;
  };
  while (std::count_if(notices.begin(), notices.end(), [&](notice& n) { return n.is_over || advance(n); }) !=
             static_cast<std::ptrdiff_t>(notices.size()) &&
         steady_now() < deadline) {
    ::poll(nullptr, 0, 1);  // no event tells that bytes have been acknowledged
  }
}

TUTTI_DECL std::optional<shrink_message> notice_in(bootstrap_frame const& frame, net::proof_key const& key) {
  std::string_view text = frame.payload;
  if (key) {
    std::size_t const size = text.size() - (std::min)(text.size(), sizeof(net::proof));
    if (!key.accepts(text.substr(size), "notice", {text.substr(0, size)})) {
      return std::nullopt;
    }
    text = text.substr(0, size);
  }
  shrink_message message;
  bool const is_notice =
      frame.kind == bootstrap_frame_kind::hello && message.parse(text) && message.kind == shrink_message::step::notice;
  return is_notice ? std::optional(std::move(message)) : std::nullopt;
}

TUTTI_DECL void take_notices(int listener, agreement& me, std::size_t longest_hello, net::proof_key const& key) {
  constexpr int most_waiting = 4096;  // a listener queues fewer, so connections after a notice are not waited for
  for (int i = 0; i != most_waiting; ++i) {
    descriptor socket = net::accept(listener);
    if (!socket && out_of_resources(errno)) {
      throw error(failure::join, "no descriptors are left to find out if the others continued without rank " +
                                     std::to_string(me.rank()) + "; raise their number (ulimit -n)")
          .set_ranks(me.rank(), {});
    }
    if (!socket) {
      return;
    }
    pending_hello pending{channel(std::move(socket))};
    if (pending.hear(longest_hello).complete) {
      if (auto const notice = notice_in(pending.frame, key)) {
        me.read_notice(*notice);
      }
    }
  }
}

}  // namespace tutti::detail::bootstrap
