// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/verbs/detail/handle.hpp>
#include <tutti/verbs/extend/verbs_options.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <infiniband/verbs.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

inline void close_device(ibv_context* c) noexcept {
  inheritance::allow(c->cmd_fd);
  inheritance::allow(c->async_fd);
  ibv_close_device(c);
}

using context_handle = handle<ibv_context, close_device>;
using domain_handle = handle<ibv_pd, ibv_dealloc_pd>;

/// An address of a port of a device.
struct port_address {
  std::string device;
  std::uint8_t port = 0;
  std::uint8_t index = 0;
  ibv_gid gid{};

  /// "rxe0, port 1, GID 1 (::ffff:10.99.0.1)"
  [[nodiscard]] std::string text() const {
    char number[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET6, gid.raw, number, sizeof number);
    return message({device, ", port ", port, ", GID ", index, " (", number, ")"});
  }
};

/// What a user wants: from the options, or else the environment.
struct device_wish {
  std::string device;
  int port = 0;  ///< 0: any
  int index = verbs_options::any_gid;

  explicit device_wish(verbs_options const& o) : device(o.device), index(o.gid_index) {
    if (char const* const named = std::getenv("TUTTI_VERBS_DEVICE"); device.empty() && named != nullptr) {
      device = named;
    }
    if (char const* const chosen = std::getenv("TUTTI_VERBS_GID");
        index == verbs_options::any_gid && chosen != nullptr) {
      index = number_of("TUTTI_VERBS_GID", chosen);
    }
    if (std::size_t const colon = device.find(':'); colon != std::string::npos) {
      port = number_of("the port in TUTTI_VERBS_DEVICE or verbs_options::device", device.substr(colon + 1));
      device.resize(colon);
    }
  }

  /// @throws error (failure::join) if the text is no number of a port or of one of its addresses
  [[nodiscard]] static int number_of(std::string_view name, std::string_view text) {
    int number = 0;
    if (!read_number(text, number) || number < 0 || number > 255) {
      throw error(failure::join, message({name, " is \"", text, "\", which is no number from 0 to 255"}));
    }
    return number;
  }

  /// "mlx5_0, port 1, GID 3", as far as something is wanted.
  [[nodiscard]] std::string text() const {
    std::string all = device;
    if (port != 0) {
      append(all, {all.empty() ? "" : ", ", "port ", port});
    }
    if (index != verbs_options::any_gid) {
      append(all, {all.empty() ? "" : ", ", "GID ", index});
    }
    return all;
  }
};

/// An open device, and which of its addresses peers send to.
struct device {
  context_handle context;
  domain_handle domain;
  ibv_device_attr limits{};
  ibv_port_attr port{};
  port_address at;
};

/// A number of a host as a GID: what RoCE makes of IPv4 is the mapped address. All zeros: it is none.
[[nodiscard]] inline ibv_gid gid_of(std::string host) {
  ibv_gid gid{};
  host.resize((std::min)(host.size(), host.find('%')));
  if (::inet_pton(AF_INET, host.c_str(), gid.raw + 12) == 1) {
    gid.raw[10] = gid.raw[11] = 0xff;
  } else if (::inet_pton(AF_INET6, host.c_str(), gid.raw) != 1) {
    gid = {};
  }
  return gid;
}

/// How good an address is: the one that is asked for, then RoCE version 2, which is routed, then what is of an Internet
/// address and so not of one link only.
[[nodiscard]] inline int merit(ibv_gid_entry const& e, ibv_gid const& wanted) noexcept {
  bool const link_local = e.gid.raw[0] == 0xfe && e.gid.raw[1] == 0x80;
  return (std::memcmp(e.gid.raw, wanted.raw, sizeof wanted.raw) == 0 ? 4 : 0) +
         (e.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 0) + (link_local ? 0 : 1);
}

/// A forked child that had the device's queues mapped would keep its parent's queue pairs alive.
inline void keep_mappings_from_children() noexcept {
  standard_numbers const occupied;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  char line[4352];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::string_view const range = std::string_view(line).substr(0, std::strcspn(line, " "));  // "7f00-7fff"
    std::size_t const middle = (std::min)(range.find('-'), range.size() - 1);
    if (std::strstr(line, "/infiniband/uverbs") != nullptr && read_number(range.substr(0, middle), begin, 16) &&
        read_number(range.substr(middle + 1), end, 16)) {
      ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTFORK);
    }
  }
  if (maps != nullptr) {
    std::fclose(maps);
  }
}

/// What could not be made, and what to do about it, of the usual reason.
[[nodiscard]] inline error device_error(port_address const& at, std::string_view what, int code) {
  std::string text = message({what, " of ", at.text(), ": ", describe_errno(code)});
  rlimit limit{};
  if (code == ENOMEM && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    append(text, {"; this process may lock ", limit.rlim_cur / 1024,
                  " KiB of memory: raise that limit (ulimit -l, "
                  "LimitMEMLOCK=, or memlock in /etc/security/limits.conf)"});
  }
  return error(failure::join, text);
}

/// @throws error(failure::join) if there is none such, or which one is meant cannot be known
[[nodiscard]] inline device open_device(verbs_options const& o, std::string const& host) {
  standard_numbers const occupied;
  if (ibv_is_fork_initialized() == IBV_FORK_DISABLED) {  // a kernel that does not copy registered memory at a fork
    ibv_fork_init();
  }
  device_wish const wish(o);
  ibv_gid const wanted = gid_of(host);
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  device best;
  int merit_of_best = -1;
  std::string there;
  std::string rivals;
  for (int d = 0; d < count; ++d) {
    std::string const name = ibv_get_device_name(list[d]);
    context_handle context(wish.device.empty() || wish.device == name ? ibv_open_device(list[d]) : nullptr);
    append(there, {there.empty() ? "" : ", ", name});
    ibv_device_attr limits{};
    if (!context || ibv_query_device(context.get(), &limits) != 0) {
      continue;
    }
    device found{std::move(context), {}, limits, {}, {}};
    int merit_of_found = -1;
    for (std::uint8_t p = 1; p <= limits.phys_port_cnt; ++p) {
      ibv_port_attr port{};
      if ((wish.port != 0 && wish.port != p) || ibv_query_port(found.context.get(), p, &port) != 0 ||
          port.state != IBV_PORT_ACTIVE) {
        continue;
      }
      for (int index = 0; index < (std::min)(port.gid_tbl_len, 256); ++index) {
        ibv_gid_entry entry{};
        bool const meant = wish.index == verbs_options::any_gid || wish.index == index;
        if (!meant || ibv_query_gid_ex(found.context.get(), p, static_cast<std::uint32_t>(index), &entry, 0) != 0) {
          continue;
        }
        if (int const m = merit(entry, wanted); m > merit_of_found) {
          merit_of_found = m;
          found.port = port;
          found.at = {name, p, static_cast<std::uint8_t>(index), entry.gid};
        }
      }
    }
    if (merit_of_found < 0) {
      continue;
    }
    append(rivals, {rivals.empty() ? "" : " and ", name});
    if (merit_of_found > merit_of_best) {
      best = std::move(found);
      merit_of_best = merit_of_found;
    }
  }
  if (list != nullptr) {
    ibv_free_device_list(list);
  }
  if (merit_of_best < 0) {
    throw error(failure::join,
                message({"no RDMA device has an active port", wish.text().empty() ? "" : " that is " + wish.text(),
                         "; there ", there.empty() ? "is none" : "are: " + there,
                         "; name another one with TUTTI_VERBS_DEVICE and TUTTI_VERBS_GID, or verbs_options, or take ",
                         "the transport tcp"}));
  }
  if (merit_of_best < 4 && wish.device.empty() && rivals.find(' ') != std::string::npos) {
    throw error(failure::join, message({"which RDMA device leads to the other ranks is not known: ", rivals,
                                        " are there, and none has the address ", host.empty() ? "of this host" : host,
                                        "; name one with TUTTI_VERBS_DEVICE or verbs_options::device"}));
  }
  inheritance::refuse(best.context->cmd_fd);
  inheritance::refuse(best.context->async_fd);
  best.domain = domain_handle(ibv_alloc_pd(best.context.get()));
  if (!best.domain) {
    throw device_error(best.at, "cannot make a protection domain", errno);
  }
  return best;
}

}  // namespace tutti::detail::verbs
