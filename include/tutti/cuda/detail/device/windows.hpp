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
struct known_windows {
  std::vector<window> of;                         ///< by rank
  std::array<std::uintptr_t, most_ranks> shifts;  ///< from addresses in this rank's own window to those of each rank
};

/// Windows of ranks that are threads of one process and share memory.
template <driver D, rendezvous M>
[[nodiscard]] known_windows windows_of_threads(D const& on, M& meet, window_shape const& shape) {
  known_windows all{};
  std::shared_ptr<std::byte> mine;
  auto const places = agree(D::name, meet, [&] {
    mine = std::shared_ptr<std::byte>(on.allocate(shape.bytes()), D::free);
    return std::to_string(reinterpret_cast<std::uintptr_t>(&mine));
  });
  for (std::string const& one : places) {
    auto const* const theirs =
        reinterpret_cast<std::shared_ptr<std::byte> const*>(word_reader(one).number<std::uintptr_t>());
    all.of.emplace_back(shape, *theirs);
  }
  static_cast<void>(meet.exchange({}));  // all have copied all pointers
  return all;
}

/// Windows of ranks that are processes of one host. Each maps the memory of the others, at any address.
///
/// A rank that may access other ranks' memory keeps a local socket open whose name they know. So the owner of memory
/// notices when all have unmapped it, even much later, or were killed.
/// @pre the driver outlives the result
template <exports_memory D, rendezvous M>
[[nodiscard]] known_windows windows_of_processes(D const& on, M& meet, window_shape const& shape) {
  known_windows all{};
  auto const holds = std::make_shared<datagram_doorbells>();
  std::shared_ptr<std::byte> mine;
  std::string const name = "tutti-window-" + unique_text();
  auto const offers = agree(D::name, meet, [&] {
    lent_memory<D>::free_what_is_back();
    std::string const address = holds->open(name);
    mine = std::shared_ptr<std::byte>(on.allocate_to_export(shape.bytes()), D::free);
    return address + ' ' + on.exported(mine.get());
  });
  std::vector<std::string> names;
  for (std::string const& one : offers) {
    names.push_back(one.substr(0, one.find(' ')));
  }
  auto const borrowers = std::make_shared<datagram_doorbells>();
  static_cast<void>(agree(D::name, meet, [&] {
    borrowers->connect(names);
    return std::string();
  }));
  mine = lent_memory<D>::lend(std::move(mine), borrowers, meet.size(), meet.rank());  // others may map it from here on
  auto const places = agree(D::name, meet, [&] {
    std::string seen;
    for (rank_type r = 0; r != meet.size(); ++r) {
      std::shared_ptr<std::byte> there = mine;
      if (r != meet.rank()) {
        try {
          there = {on.imported(std::string_view(offers[r]).substr(names[r].size() + 1)),
                   [holds, &on](std::byte* p) { on.let_go(p); }};
        } catch (std::exception const& e) {  // the process may have been killed
          throw std::runtime_error("memory of rank " + std::to_string(r) + ": " + e.what());
        }
      }
      seen += std::to_string(reinterpret_cast<std::uintptr_t>(there.get())) + ' ';
      all.of.emplace_back(shape, std::move(there));
    }
    return seen;
  });
  for (rank_type r = 0; r != meet.size(); ++r) {
    std::string_view seen = places[r];
    for (rank_type i = 0; i != meet.rank(); ++i) {
      seen.remove_prefix(seen.find(' ') + 1);
    }
    all.shifts[r] = word_reader(seen).number<std::uintptr_t>() - reinterpret_cast<std::uintptr_t>(mine.get());
  }
  return all;
}

}  // namespace tutti::detail::device
