// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/secret.hpp>

#include <cstdlib>
#include <mpi.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// A rendezvous over an MPI communicator, which needs no address of rank 0.
///
///     MPI_Init(&argc, &argv);
///     tutti::mpi_rendezvous meet(MPI_COMM_WORLD);
///     tutti::communicator<tutti::tcp> world(meet);
///
/// MPI is used while a world, or a part of it, is made, and never for its data. A missing rank is waited for as in
/// MPI: without end.
/// @pre MPI is initialised, and is not finalised before the rendezvous ends; MPI calls come from one thread at a time
/// Cost of an exchange: two allgathers. Needs MPI 3 (component `mpi`).
class mpi_rendezvous {
 public:
  /// Constructs the rendezvous of the ranks of `mpi_communicator`.
  /// @param network_interface its name or address; empty: the one of the default route, or the loopback interface if
  /// all ranks are on one host
  /// @throws error(failure::join) if MPI fails and its error handler returns, or the variables of the secret are wrong
  explicit mpi_rendezvous(MPI_Comm mpi_communicator, std::string network_interface = preferred_interface())
      : interface_(std::move(network_interface)),
        secret_(detail::read_secret(::environ, count(mpi_communicator, MPI_Comm_size))) {
    examine(MPI_Comm_dup(mpi_communicator, &communicator_), "MPI_Comm_dup");
    MPI_Comm neighbours = MPI_COMM_NULL;
    examine(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &neighbours),
            "MPI_Comm_split_type");
    one_host_ = count(neighbours, MPI_Comm_size) == size();
    MPI_Comm_free(&neighbours);
  }
  mpi_rendezvous(mpi_rendezvous const&) = delete;
  mpi_rendezvous& operator=(mpi_rendezvous const&) = delete;
  ~mpi_rendezvous() { MPI_Comm_free(&communicator_); }

  /// The rank in MPI's communicator.
  [[nodiscard]] rank_type rank() const { return count(communicator_, MPI_Comm_rank); }
  /// The size of MPI's communicator.
  [[nodiscard]] rank_type size() const { return count(communicator_, MPI_Comm_size); }

  /// Returns the texts of all ranks, in rank order. Collective.
  std::vector<std::string> exchange(std::string_view text) {
    int const length = static_cast<int>(text.size());
    std::vector<int> lengths(size()), places(size());
    examine(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, communicator_), "MPI_Allgather");
    int total = 0;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      places[r] = total;
      total += lengths[r];
    }
    std::string bytes(static_cast<std::size_t>(total), '\0');
    examine(MPI_Allgatherv(text.data(), length, MPI_BYTE, bytes.data(), lengths.data(), places.data(), MPI_BYTE,
                           communicator_),
            "MPI_Allgatherv");
    std::vector<std::string> texts;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      texts.push_back(bytes.substr(static_cast<std::size_t>(places[r]), static_cast<std::size_t>(lengths[r])));
    }
    return texts;
  }

  /// The address by which the other members reach this host.
  /// @throws error(failure::join) if there is no such interface, or no route
  [[nodiscard]] std::string local_host() const {
    if (!interface_.empty()) {
      return detail::net::interface_address(interface_).host();
    }
    return one_host_ ? detail::net::loopback_host() : detail::net::outward_host();
  }

  /// The secret of TUTTI_SECRET_FILE or TUTTI_SECRET, or none.
  [[nodiscard]] world_secret const& secret() const noexcept { return secret_; }

 private:
  [[nodiscard]] static std::string preferred_interface() {
    char const* const name = std::getenv("TUTTI_INTERFACE");
    return name == nullptr ? "" : name;
  }
  [[nodiscard]] static rank_type count(MPI_Comm communicator, int (*query)(MPI_Comm, int*)) {
    int n = 0;
    examine(query(communicator, &n), "asking for rank or size");
    return static_cast<rank_type>(n);
  }
  static void examine(int code, char const* action) {
    if (code != MPI_SUCCESS) {
      char text[MPI_MAX_ERROR_STRING] = {};
      int length = 0;
      MPI_Error_string(code, text, &length);
      throw error(failure::join, std::string(action) + " of the launcher's MPI failed: " + text);
    }
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::string interface_;
  world_secret secret_;
  bool one_host_ = false;
};

}  // namespace tutti
