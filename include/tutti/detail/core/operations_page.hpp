// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline core {

/// The number of this thread in the system.
[[nodiscard]] TUTTI_DECL std::uint32_t this_thread_number() noexcept;

/// A text of bounded length in words that other processes may read.
template <std::size_t Words>
class shared_text {
 public:
  /// Sets the text, without what does not fit.
  void store(std::string_view text) noexcept {
    for (std::size_t i = 0; i < Words; ++i) {
      std::uint64_t word = 0;
      std::string_view const part = text.substr(text.size() < 8 * i ? text.size() : 8 * i, 8);
      std::memcpy(&word, part.data(), part.size());
      words_[i].store(word, std::memory_order_release);
    }
  }
  void copy(shared_text const& source) noexcept {
    for (std::size_t i = 0; i < Words; ++i) {
      words_[i].store(source.words_[i].load(std::memory_order_acquire), std::memory_order_release);
    }
  }
  [[nodiscard]] std::string load() const {
    char text[8 * Words];
    for (std::size_t i = 0; i < Words; ++i) {
      std::uint64_t const word = words_[i].load(std::memory_order_acquire);
      std::memcpy(text + 8 * i, &word, sizeof word);
    }
    return std::string(text, ::strnlen(text, sizeof text));
  }

 private:
  std::atomic<std::uint64_t> words_[Words]{};
};

/// A rank of a communicator, and its process on this host.
struct local_member {
  rank_type rank = 0;
  std::uint32_t pid = 0;
  friend constexpr bool operator==(local_member const&, local_member const&) noexcept = default;
};

/// The facts of a communicator that do not change.
struct communicator_facts {
  std::uint64_t identity = 0;  ///< equal on all ranks, and of no other communicator of this host
  rank_type rank = 0;
  rank_type size = 0;
  std::uint32_t thread = 0;  ///< the number of the thread that made it
  std::string name{};
  std::uint64_t local_size = 0;               ///< ranks on this host
  std::vector<local_member> local_members{};  ///< the first of them, at most `member_limit`
};

/// The record of one communicator of a rank, in memory that other processes may read. Memory of zeros is a record that
/// no communicator has.
class communicator_record {
 public:
  static constexpr std::size_t member_limit = 256;

  communicator_record() = default;
  communicator_record(communicator_record const&) = delete;
  communicator_record& operator=(communicator_record const&) = delete;

  /// Gives the record to a communicator. @pre none has it
  TUTTI_DECL void begin() noexcept;
  /// Lets others read the record. @pre `begin`
  TUTTI_DECL void publish(communicator_facts const& facts) noexcept;
  /// Takes the record from its communicator.
  TUTTI_DECL void end() noexcept;
  /// Copies another record, without what is being written there; no communicator has the copy if the other record
  /// changes hands meanwhile. Async-signal-safe. @pre no thread reads this record
  TUTTI_DECL void copy(communicator_record const& source) noexcept;

  [[nodiscard]] recorder::storage& operations() noexcept { return operations_; }
  [[nodiscard]] recorder::storage const& operations() const noexcept { return operations_; }

  /// The number of the communicator among all that had this record; 0 if none has it, or has published it.
  [[nodiscard]] std::uint64_t tenancy() const noexcept {
    std::uint64_t const tenancy = tenancy_.load(std::memory_order_acquire);
    return tenancy % 2 == 1 && publication_.load(std::memory_order_acquire) == tenancy ? tenancy : 0;
  }
  [[nodiscard]] std::uint64_t identity() const noexcept { return identity_.load(std::memory_order_acquire); }
  /// Reads the facts. What is read of the record is true if `tenancy` is the same before and after that.
  [[nodiscard]] TUTTI_DECL communicator_facts facts() const;

 private:
  using word = std::atomic<std::uint64_t>;

  word tenancy_{0};  ///< odd: a communicator has the record
  word publication_{0};
  word identity_{0};
  word rank_and_size_{0};
  word thread_{0};
  word local_size_{0};
  shared_text<8> name_;
  word local_members_[member_limit]{};
  recorder::storage operations_;
};

/// The operations page of a process: the records of its communicators, in a file in memory (memfd) that
/// tools/inspect finds in the process's list of descriptors. It cannot shrink, so others may map it.
struct operations_page {
  static constexpr std::string_view file_name = "tutti-operations";
  static constexpr std::uint64_t magic_word = 0x3170'6f69'7474'7574U;  // "tuttiop1" on a little-endian machine
  static constexpr std::uint64_t layout_number = 1;                    ///< changes with the layout
  static constexpr std::size_t record_count = 64;
  static constexpr std::size_t system_page = 4096;

  struct alignas(system_page) record : communicator_record {};

  std::atomic<std::uint64_t> magic{0};  ///< written last
  std::atomic<std::uint64_t> layout{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> pid{0};  ///< the process, as it sees itself
  std::atomic<std::uint64_t> occupancy{
      0};               ///< a bit for each record that a communicator has; the others take no memory yet
  shared_text<16> job;  ///< its name for the job that it has joined; empty if none
  record records[record_count];
};
static_assert(sizeof(operations_page::record) == operations_page::system_page);

/// Owns the record of a communicator: one of this process's page, or in ordinary memory if there is none left or no
/// page can be made. The page lasts while communicators have records of it. A forked child leaves its parent's page
/// alone, and makes another one for communicators of its own.
class record_owner {
 public:
  /// @throws std::bad_alloc
  TUTTI_DECL record_owner();
  record_owner(record_owner const&) = delete;
  record_owner& operator=(record_owner const&) = delete;
  TUTTI_DECL ~record_owner();

  [[nodiscard]] communicator_record& operator*() const noexcept { return *record_; }
  [[nodiscard]] communicator_record* operator->() const noexcept { return record_; }

  /// Sets the name of the job, on this process's page.
  TUTTI_DECL static void set_job(std::string_view job) noexcept;

  /// Calls `read(page, object)` with the page of this process, while no record is taken or given back. Returns false if
  /// there is no page.
  /// @param in_handler called from a signal handler: returns false, too, if a thread takes or gives back a record now
  TUTTI_DECL static bool visit_page(void (*read)(operations_page const& page, void* object), void* object,
                                    bool in_handler) noexcept;

 private:
  class page;

  std::uint32_t generation_;  ///< fork generation of its process
  page* page_ = nullptr;      ///< null: the record is in ordinary memory
  communicator_record* record_ = nullptr;
};

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/operations_page.ipp>
#endif
