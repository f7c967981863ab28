// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/concept.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/transport/chunk_ring.hpp>
#include <tutti/transport/mail_segment.hpp>
#include <tutti/transport/peer_memory.hpp>
#include <tutti/transport/peer_processes.hpp>
#include <tutti/transport/shared_arena.hpp>
#include <tutti/transport/sleep_barrier.hpp>

#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tutti {

/// How much shared memory messages are copied through, and buffers may be taken from. Rank 0's counts.
struct shared_memory_options {
  static constexpr std::size_t as_suits = SIZE_MAX;

  /// What is copied at a time; a multiple of 64. Unless set, 64 KiB, or 128 KiB among more ranks than cores.
  std::size_t chunk_bytes = as_suits;
  /// Per rank, besides one chunk per lane; a multiple of 64. Unless set, 2 MiB, or 1 MiB among more ranks than cores.
  std::size_t ring_bytes = as_suits;
  /// What the buffers of one rank's allocators may come to. It takes address space, not memory.
  std::size_t arena_bytes = std::size_t{16} << 30;
  /// Messages in ordinary memory that are only moved (broadcast, send) are copied from so many bytes on by
  /// their receiver out of the sender's memory, if the system allows it. SIZE_MAX: never.
  std::size_t attach_from = std::size_t{64} << 20;
};

/// One rank's part of the making of a shared_memory world, and what it then holds of it.
template <class Doorbells>
class shared_world {
 public:
  template <rendezvous M>
  shared_world(M& meet, shared_memory_options const& wanted) : n_(meet.size()) {
    shared_memory_options const o = filled_in(wanted, n_);
    expects(o.chunk_bytes != 0 && o.chunk_bytes % cache_line == 0 && o.ring_bytes % cache_line == 0,
            "shared_memory_options: chunk_bytes and ring_bytes must be multiples of 64, and chunks not empty");
    // A rank that fails still takes part in all exchanges, so that all learn of it at once.
    auto const offers = meet.exchange(attempt([&] { return offer(meet.rank(), o); }));
    auto const contacts = meet.exchange(attempt([&] { return contact(meet, offers); }));
    auto const answers = meet.exchange(attempt([&] { return accept(meet, offers, contacts); }));
    check(meet, offers);
    check(meet, contacts);
    check(meet, answers);
    conclude(answers);
  }

  [[nodiscard]] mail_segment mail() const noexcept { return {file().base(), n_}; }
  [[nodiscard]] Doorbells& bells() noexcept { return bells_; }
  [[nodiscard]] shared_memory_options const& shape() const noexcept { return shape_; }
  [[nodiscard]] std::byte* base() const noexcept { return file().base(); }
  /// What a rank copies messages to.
  [[nodiscard]] chunk_ring chunks(rank_type r) const {
    return {file().base() + rings_begin() + r * ring().bytes(), ring()};
  }
  [[nodiscard]] bool contains(std::span<std::byte const> bytes) const noexcept {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(bytes.data()) - reinterpret_cast<std::uintptr_t>(file().base());
    return offset < file().size();
  }
  [[nodiscard]] sleep_barrier barrier() const noexcept { return sleep_barrier(remote_fences_); }
  /// The memory of the other processes. To be read only if `shape().attach_from` says so.
  [[nodiscard]] peer_memory const& peers() const noexcept { return peers_; }
  /// Where another rank has what would lie at this address if it were in shared memory.
  [[nodiscard]] std::uintptr_t address_at(rank_type r, std::byte const* here) const noexcept {
    return reinterpret_cast<std::uintptr_t>(here) - reinterpret_cast<std::uintptr_t>(base()) + bases_[r];
  }
  [[nodiscard]] counted<shared_arena> const& arena() const noexcept { return arena_; }
  /// Whether the process of another rank has not ended.
  [[nodiscard]] bool lives(rank_type r) const noexcept { return bells_.reaches(r) && !processes_.ended(r); }

 private:
  static shared_memory_options filled_in(shared_memory_options o, rank_type ranks) noexcept {
    ring_shape const suiting = ring_shape::suiting(ranks > std::thread::hardware_concurrency());
    o.chunk_bytes = o.chunk_bytes == shared_memory_options::as_suits ? suiting.chunk_bytes : o.chunk_bytes;
    o.ring_bytes = o.ring_bytes == shared_memory_options::as_suits ? suiting.ring_bytes : o.ring_bytes;
    return o;
  }

  /// What `f` returns, or '!' and why it failed.
  template <class F>
  static std::string attempt(F&& f) {
    try {
      return f();
    } catch (error const& e) {
      return std::string("!") + e.what();
    }
  }

  template <class M>
  static void check(M const& meet, std::vector<std::string> const& texts) {
    for (rank_type r = 0; r < texts.size(); ++r) {
      if (texts[r].starts_with('!')) {
        rank_type const them = world_rank(meet, r);
        throw error(failure::join, "shared_memory, rank " + std::to_string(them) + ": " + texts[r].substr(1))
            .between(world_rank(meet, meet.rank()), {them});
      }
    }
  }

  /// "doorbell memory process", and from rank 0 besides "file chunk_bytes ring_bytes arena_bytes attach_from".
  std::string offer(rank_type me, shared_memory_options const& o) {
    std::string const unique = unique_text();
    std::string text = "tutti-" + unique;
    bells_.open(text);
    text += " " + peers_.offer(unique) + " " + processes_.offer();
    if (me == 0) {
      shape_ = o;
      file().create(arenas_begin() + n_ * arena_size(), arenas_begin());
      text += " " + file().identity() + " " + std::to_string(o.chunk_bytes) + " " + std::to_string(o.ring_bytes) + " " +
              std::to_string(o.arena_bytes) + " " + std::to_string(o.attach_from);
    }
    return text;
  }

  /// Takes the words of a text one after the other.
  struct words {
    std::string_view rest;

    std::string_view next() noexcept {
      std::string_view const word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
      return word;
    }
    std::size_t number() noexcept {
      std::size_t value = 0;
      for (char const digit : next()) {
        value = value * 10 + static_cast<std::size_t>(digit - '0');
      }
      return value;
    }
  };

  /// Finds the doorbells and the processes of all; rank 0 hands its file to them. All are heard of once more after
  /// this, so they were found while they lived.
  template <class M>
  std::string contact(M const& meet, std::vector<std::string> const& offers) {
    check(meet, offers);
    std::vector<std::string> doorbells;
    std::vector<std::string_view> processes;
    for (std::string const& o : offers) {
      words text{o};
      doorbells.emplace_back(text.next());
      text.next();
      processes.push_back(text.next());
    }
    bells_.connect(doorbells);
    processes_.open(processes);
    for (rank_type r = 1; meet.rank() == 0 && r < n_; ++r) {
      if (!bells_.hand(r, file().descriptor_to_hand())) {
        throw error(failure::join, "the shared memory cannot be handed to rank " + std::to_string(world_rank(meet, r)) +
                                       " (" + describe_errno(errno) + ")");
      }
    }
    return "";
  }

  /// "base attaches fences": where this rank has mapped the file; whether it can read the memory of all
  /// others; whether they are to make it pass a fence.
  template <class M>
  std::string accept(M const& meet, std::vector<std::string> const& offers, std::vector<std::string> const& contacts) {
    rank_type const me = meet.rank();
    check(meet, contacts);
    std::vector<std::string_view> memories;
    for (std::string const& o : offers) {
      words text{o};
      text.next();
      memories.push_back(text.next());
    }
    if (me != 0) {
      words text{offers[0]};
      for (int known = 0; known < 3; ++known) {
        text.next();
      }
      std::string_view const identity = text.next();
      descriptor handed = bells_.take([&](descriptor const& f) { return shared_file::identity(f) == identity; });
      if (!handed) {
        throw error(failure::join,
                    "rank 0's shared memory did not come over the local socket: allow processes to pass "
                    "files to each other, or use tcp");
      }
      file().adopt(static_cast<descriptor&&>(handed));
      shape_.chunk_bytes = text.number();
      shape_.ring_bytes = text.number();
      shape_.arena_bytes = text.number();
      shape_.attach_from = text.number();
    }
    arena_->place(arenas_begin() + me * arena_size(), shape_.arena_bytes);
    mail().construct(me);
    bool const reads = shape_.attach_from != SIZE_MAX && peers_.reads(memories);
    return std::to_string(reinterpret_cast<std::uintptr_t>(base())) + (reads ? " 1" : " 0") +
           (sleep_barrier::offered(n_) ? " 1" : " 0");
  }

  void conclude(std::vector<std::string> const& answers) {
    bases_ = owned_array<std::uintptr_t>(n_);
    for (rank_type r = 0; r < n_; ++r) {
      words text{answers[r]};
      bases_[r] = text.number();
      shape_.attach_from = text.number() != 0 ? shape_.attach_from : SIZE_MAX;
      remote_fences_ = remote_fences_ && text.number() != 0;
    }
  }

  [[nodiscard]] shared_file& file() const noexcept { return arena_->file; }

  static constexpr std::size_t page = 4096;
  static constexpr std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }
  [[nodiscard]] ring_shape ring() const noexcept { return {shape_.ring_bytes, shape_.chunk_bytes}; }
  [[nodiscard]] std::size_t rings_begin() const noexcept { return whole_pages(mail_segment::bytes(n_)); }
  [[nodiscard]] std::size_t arenas_begin() const noexcept { return whole_pages(rings_begin() + n_ * ring().bytes()); }
  /// With a page between one arena and the next. Ranks that allocate alike have what they combine at like places of
  /// their arenas; were these a power of two apart, addresses would differ in high bits only, and a first-level cache
  /// that predicts its way by a hash of lower ones (AMD's: Lipp and others, Take A Way, 2020) could not hold both
  /// lines.
  [[nodiscard]] std::size_t arena_size() const noexcept { return whole_pages(shape_.arena_bytes) + page; }

  rank_type n_;
  shared_memory_options shape_{};
  Doorbells bells_;
  peer_memory peers_;
  peer_processes processes_;
  bool remote_fences_ = true;
  owned_array<std::uintptr_t> bases_;  ///< where each rank has mapped the file
  counted<shared_arena> arena_ = shared_arena::create();
};

}  // namespace tutti
