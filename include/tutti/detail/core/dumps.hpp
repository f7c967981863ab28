// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/core/process_look.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline core {

/// The head of the part of one process in a dump. The records that communicators have follow it, a system page each.
struct alignas(operations_page::system_page) dump_head {
  static constexpr std::uint64_t magic_word = 0x3170'6469'7474'7574U;  // "tuttidp1" on a little-endian machine
  static constexpr std::uint64_t layout_number = 1;                    ///< changes with the layout

  /// The activity of a thread, as another program saw it.
  struct observation {
    core::activity state{};           ///< unknown: the process wrote this part itself
    std::uint8_t others_compute = 0;  ///< 1: other threads of the process compute
    char channel[38] = {};            ///< function of the kernel in which the thread waits
  };

  std::uint64_t magic = magic_word;
  std::uint64_t layout = layout_number;
  std::uint64_t page_layout = operations_page::layout_number;
  std::int64_t now = 0;            ///< the steady clock of the host
  std::int64_t wall_clock = 0;     ///< nanoseconds since 1970
  std::uint64_t communicator = 0;  ///< identity of the communicator that failed; 0: none
  std::uint64_t pid = 0;           ///< the process, as it sees itself
  std::uint64_t occupancy = 0;     ///< a bit for each record of the page that follows
  shared_text<16> job;             ///< name of the job
  char host[64] = {};              ///< name of the host
  char error[1024] = {};           ///< text of the error; empty if there was none
  observation observations[operations_page::record_count];
};
static_assert(sizeof(dump_head) == operations_page::system_page);

/// Writes the part of a process to a file: the head, completed, and the records. Returns 0, or the errno of the
/// failure. Async-signal-safe.
/// @param page null if the process has none; the head has the number of the process then
/// @param record memory for copies
[[nodiscard]] TUTTI_DECL int write_part(int file, operations_page const* page, dump_head& head,
                                        operations_page::record& record) noexcept;

/// A rank at fault, if it is another process of this host.
struct local_suspect {
  rank_type rank = 0;
  std::uint32_t pid = 0;  ///< 0: there is none
  bool is_lost = false;   ///< it has left the world
};

/// The dumps of this process: files with its operations page, which tools/inspect reads. They are written to a folder
/// that the user names, at a fault and at SIGUSR2; without a folder, never. A dump is visible with all of its contents,
/// or for a moment empty, and replaces no file but this process's own. All state is static.
class dumps {
 public:
  /// The largest number of dumps at faults of a process.
  static constexpr std::size_t fault_limit = 16;

  /// Lets this process write dumps to the folder, and handles SIGUSR2. Does nothing if the process does so already.
  /// @param rank the rank of the process in its first world, for the names of the files; no_rank: it enters one
  /// @throws error(failure::join) if the folder cannot be written to, or if the program handles SIGUSR2 itself
  TUTTI_DECL static void begin(std::string const& folder, rank_type rank);

  /// Writes a dump at a fault, once for each communicator. Returns 0, or the errno of the failure.
  /// @param culprit the dump has its page, too, and its activity as seen from here
  [[nodiscard]] TUTTI_DECL static int write(std::uint64_t communicator, std::string_view error,
                                            local_suspect const& culprit = {}) noexcept;
  /// "; the dump in /shared/run-7 was not written: No space left on device; make room there".
  [[nodiscard]] TUTTI_DECL static std::string describe_failure(int code);

 private:
  struct request;
  struct settings;

  TUTTI_DECL static void take_signal();
  TUTTI_DECL static void on_signal(int number) noexcept;
  [[nodiscard]] TUTTI_DECL static int write(request& r, bool in_handler) noexcept;
  [[nodiscard]] TUTTI_DECL static int store(operations_page const& page, request const& r) noexcept;
  [[nodiscard]] TUTTI_DECL static int add_suspect(int file, request const& r);
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/dumps.ipp>
#endif
