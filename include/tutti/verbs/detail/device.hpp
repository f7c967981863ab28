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
  fork_guard::remove(c->cmd_fd);
  fork_guard::remove(c->async_fd);
  ibv_close_device(c);
}

using context_handle = handle<ibv_context, close_device>;
using domain_handle = handle<ibv_pd, ibv_dealloc_pd>;

/// The address of a port of a device.
struct port_address {
  std::string device;
  std::uint8_t port = 0;
  std::uint8_t index = 0;
  ibv_gid gid{};

  /// Text: "rxe0, port 1, GID 1 (::ffff:10.99.0.1)".
  [[nodiscard]] std::string text() const {
    char number[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(AF_INET6, gid.raw, number, sizeof number);
    return message({device, ", port ", port, ", GID ", index, " (", number, ")"});
  }
};

/// The user's choice of a device: from the options, or else from the environment.
struct device_choice {
  std::string device;
  int port = 0;  ///< 0: any port
  int index = verbs_options::any_gid;

  explicit device_choice(verbs_options const& options) : device(options.device), index(options.gid_index) {
    if (char const* const device_setting = std::getenv("TUTTI_VERBS_DEVICE");
        device.empty() && device_setting != nullptr) {
      device = device_setting;
    }
    if (char const* const gid_setting = std::getenv("TUTTI_VERBS_GID");
        index == verbs_options::any_gid && gid_setting != nullptr) {
      index = number_of("TUTTI_VERBS_GID", gid_setting);
    }
    if (std::size_t const colon = device.find(':'); colon != std::string::npos) {
      port = number_of("the port in TUTTI_VERBS_DEVICE or verbs_options::device", device.substr(colon + 1));
      device.resize(colon);
    }
  }

  /// @throws error (failure::join) if the text is no number of a port or of a GID
  [[nodiscard]] static int number_of(std::string_view name, std::string_view text) {
    int number = 0;
    if (!read_number(text, number) || number < 0 || number > 255) {
      throw error(failure::join, message({name, " is \"", text, "\", which is not a number from 0 to 255"}));
    }
    return number;
  }

  /// Text: "mlx5_0, port 1, GID 3"; parts that are not set are left out.
  [[nodiscard]] std::string text() const {
    std::string choice_text = device;
    if (port != 0) {
      append(choice_text, {choice_text.empty() ? "" : ", ", "port ", port});
    }
    if (index != verbs_options::any_gid) {
      append(choice_text, {choice_text.empty() ? "" : ", ", "GID ", index});
    }
    return choice_text;
  }
};

/// An open device, and the address that peers send to.
struct device {
  context_handle context;
  domain_handle domain;
  ibv_device_attr limits{};
  ibv_port_attr port{};
  port_address address;
};

/// The GID of a host's address; RoCE maps IPv4 addresses to IPv6. Zero if `host` is no IP address.
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

/// Preference among addresses: first the requested one, then RoCE version 2, which can be routed, then one that is
/// not link-local.
[[nodiscard]] inline int merit(ibv_gid_entry const& e, ibv_gid const& host_gid) noexcept {
  bool const link_local = e.gid.raw[0] == 0xfe && e.gid.raw[1] == 0x80;
  return (std::memcmp(e.gid.raw, host_gid.raw, sizeof host_gid.raw) == 0 ? 4 : 0) +
         (e.gid_type == IBV_GID_TYPE_ROCE_V2 ? 2 : 0) + (link_local ? 0 : 1);
}

/// Excludes the device's queues from forked children: a mapping in a child keeps the parent's queue pairs alive after
/// its death.
inline void keep_mappings_from_children() noexcept {
  standard_numbers const reserved_numbers;
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

/// An error that names the failed action; on exhausted locked memory, also the remedy.
[[nodiscard]] inline error device_error(port_address const& at, std::string_view action, int code) {
  std::string text = message({action, " of ", at.text(), ": ", describe_errno(code)});
  rlimit limit{};
  if (code == ENOMEM && ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    append(text, {"; this process may lock ", limit.rlim_cur / 1024,
                  " KiB of memory: raise that limit (ulimit -l, "
                  "LimitMEMLOCK=, or memlock in /etc/security/limits.conf)"});
  }
  return error(failure::join, text);
}

/// @throws error(failure::join) if no device fits, or several do
[[nodiscard]] inline device open_device(verbs_options const& options, std::string const& host) {
  standard_numbers const reserved_numbers;
  if (ibv_is_fork_initialized() == IBV_FORK_DISABLED) {  // the kernel does not copy registered memory at a fork
    ibv_fork_init();
  }
  device_choice const choice(options);
  ibv_gid const host_gid = gid_of(host);
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  device best;
  int best_merit = -1;
  std::string available;
  std::string candidates;
  for (int d = 0; d < count; ++d) {
    std::string const name = ibv_get_device_name(list[d]);
    context_handle context(choice.device.empty() || choice.device == name ? ibv_open_device(list[d]) : nullptr);
    append(available, {available.empty() ? "" : ", ", name});
    ibv_device_attr limits{};
    if (!context || ibv_query_device(context.get(), &limits) != 0) {
      continue;
    }
    device candidate{std::move(context), {}, limits, {}, {}};
    int candidate_merit = -1;
    for (std::uint8_t p = 1; p <= limits.phys_port_cnt; ++p) {
      ibv_port_attr port{};
      if ((choice.port != 0 && choice.port != p) || ibv_query_port(candidate.context.get(), p, &port) != 0 ||
          port.state != IBV_PORT_ACTIVE) {
        continue;
      }
      for (int index = 0; index < (std::min)(port.gid_tbl_len, 256); ++index) {
        ibv_gid_entry entry{};
        bool const is_candidate = choice.index == verbs_options::any_gid || choice.index == index;
        if (!is_candidate ||
            ibv_query_gid_ex(candidate.context.get(), p, static_cast<std::uint32_t>(index), &entry, 0) != 0) {
          continue;
        }
        if (int const m = merit(entry, host_gid); m > candidate_merit) {
          candidate_merit = m;
          candidate.port = port;
          candidate.address = {name, p, static_cast<std::uint8_t>(index), entry.gid};
        }
      }
    }
    if (candidate_merit < 0) {
      continue;
    }
    append(candidates, {candidates.empty() ? "" : " and ", name});
    if (candidate_merit > best_merit) {
      best = std::move(candidate);
      best_merit = candidate_merit;
    }
  }
  if (list != nullptr) {
    ibv_free_device_list(list);
  }
  if (best_merit < 0) {
    throw error(failure::join,
                message({"no RDMA device has an active port", choice.text().empty() ? "" : " that is " + choice.text(),
                         "; available: ", available.empty() ? "none" : available,
                         "; name another one with TUTTI_VERBS_DEVICE and TUTTI_VERBS_GID, or use tcp"}));
  }
  if (best_merit < 4 && choice.device.empty() && candidates.find(' ') != std::string::npos) {
    throw error(failure::join, message({"cannot choose an RDMA device: ", candidates,
                                        " are active, but none has the address ", host.empty() ? "of this host" : host,
                                        "; name one with TUTTI_VERBS_DEVICE or verbs_options::device"}));
  }
  fork_guard::add(best.context->cmd_fd);
  fork_guard::add(best.context->async_fd);
  best.domain = domain_handle(ibv_alloc_pd(best.context.get()));
  if (!best.domain) {
    throw device_error(best.address, "cannot make a protection domain", errno);
  }
  return best;
}

}  // namespace tutti::detail::verbs
