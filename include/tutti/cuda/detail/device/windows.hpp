// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/agreement.hpp>
#include <tutti/cuda/detail/device/lent_memory.hpp>
#include <tutti/cuda/detail/device/window.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>
#include <tutti/detail/shared_memory/shared_file.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

/// The windows of all ranks, as one rank reaches them.
struct world_windows {
  std::vector<window> by_rank;                    ///< by rank
  std::array<std::uintptr_t, most_ranks> shifts;  ///< from addresses in this rank's own window to those of each rank
};

/// Windows of ranks that are threads of one process and share memory.
template <driver D, rendezvous M>
[[nodiscard]] world_windows windows_of_threads(D const& driver, M& meet, window_shape const& shape) {
  world_windows windows{};
  std::shared_ptr<std::byte> local_memory;
  auto const places = agree(D::name, meet, [&] {
    local_memory = std::shared_ptr<std::byte>(driver.allocate(shape.bytes()), D::free);
    return std::to_string(reinterpret_cast<std::uintptr_t>(&local_memory));
  });
  for (std::string const& text : places) {
    auto const* const peer_memory =
        reinterpret_cast<std::shared_ptr<std::byte> const*>(word_reader(text).number<std::uintptr_t>());
    windows.by_rank.emplace_back(shape, *peer_memory);
  }
  static_cast<void>(meet.exchange({}));  // all have copied all pointers
  return windows;
}

/// Windows of ranks that are processes of one host. Each maps the memory of the others, at any address.
///
/// A rank that may access other ranks' memory keeps a local socket open whose name they know. So the owner of memory
/// notices when all have unmapped it, even much later, or were killed.
/// @pre the driver outlives the result
template <exports_memory D, rendezvous M>
[[nodiscard]] world_windows windows_of_processes(D const& driver, M& meet, window_shape const& shape) {
  world_windows windows{};
  auto const open_socket = std::make_shared<datagram_doorbells>();
  std::shared_ptr<std::byte> local_memory;
  std::string const name = "tutti-window-" + unique_text();
  auto const offers = agree(D::name, meet, [&] {
    lent_memory<D>::collect();
    std::string const address = open_socket->open(name);
    local_memory = std::shared_ptr<std::byte>(driver.allocate_to_export(shape.bytes()), D::free);
    return address + ' ' + driver.export_memory(local_memory.get());
  });
  std::vector<std::string> names;
  for (std::string const& offer : offers) {
    names.push_back(offer.substr(0, offer.find(' ')));
  }
  auto const borrowers = std::make_shared<datagram_doorbells>();
  static_cast<void>(agree(D::name, meet, [&] {
    borrowers->connect(names);
    return std::string();
  }));
  local_memory = lent_memory<D>::lend(std::move(local_memory), borrowers, meet.size(),
                                      meet.rank());  // others may map it from here on
  auto const places = agree(D::name, meet, [&] {
    std::string addresses;
    for (rank_type r = 0; r != meet.size(); ++r) {
      std::shared_ptr<std::byte> memory = local_memory;
      if (r != meet.rank()) {
        try {
          memory = {driver.import_memory(std::string_view(offers[r]).substr(names[r].size() + 1)),
                    [open_socket, &driver](std::byte* p) { driver.unmap(p); }};
        } catch (std::exception const& e) {  // the process may have been killed
          throw std::runtime_error("memory of rank " + std::to_string(r) + ": " + e.what());
        }
      }
      addresses += std::to_string(reinterpret_cast<std::uintptr_t>(memory.get())) + ' ';
      windows.by_rank.emplace_back(shape, std::move(memory));
    }
    return addresses;
  });
  for (rank_type r = 0; r != meet.size(); ++r) {
    std::string_view addresses = places[r];
    for (rank_type i = 0; i != meet.rank(); ++i) {
      addresses.remove_prefix(addresses.find(' ') + 1);
    }
    windows.shifts[r] =
        word_reader(addresses).number<std::uintptr_t>() - reinterpret_cast<std::uintptr_t>(local_memory.get());
  }
  return windows;
}

}  // namespace tutti::detail::device
