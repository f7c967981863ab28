// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/concept.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/transport/chunk_pool.hpp>
#include <tutti/transport/mail_segment.hpp>
#include <tutti/transport/shared_arena.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// How much shared memory messages are copied through, and buffers may be taken from. Rank 0's counts.
struct shared_memory_options {
  std::size_t chunk_bytes = std::size_t{32} << 10;  ///< of one chunk; a multiple of 64
  std::uint32_t chunks = 4;                         ///< per rank and lane
  /// What the buffers of one rank's allocators may come to. It takes address space, not memory.
  std::size_t arena_bytes = std::size_t{16} << 30;
};

/// One rank's part of the making of a shared_memory world, and what it then holds of it.
template <class Doorbells>
class shared_world {
 public:
  template <rendezvous M>
  shared_world(M& meet, shared_memory_options const& o) : n_(meet.size()) {
    expects(o.chunk_bytes >= cache_line && o.chunk_bytes % cache_line == 0 && o.chunks >= 1,
            "shared_memory needs at least one chunk per lane, of a multiple of 64 bytes");
    // Whoever fails still takes part in both exchanges, so that all learn of it at once.
    auto const offers = meet.exchange(attempt([&] { return offer(meet.rank(), o); }));
    auto const answers = meet.exchange(attempt([&] {
      accept(meet.rank(), offers);
      return std::string("ready");
    }));
    file().forget_name();
    check(meet.rank(), offers);
    check(meet.rank(), answers);
  }

  [[nodiscard]] mail_segment mail() const noexcept { return {file().base(), n_}; }
  [[nodiscard]] Doorbells& bells() noexcept { return bells_; }
  [[nodiscard]] shared_memory_options const& shape() const noexcept { return shape_; }
  [[nodiscard]] std::byte* base() const noexcept { return file().base(); }
  [[nodiscard]] std::byte* pool(rank_type r) const noexcept {
    return file().base() + pools_begin() + r * chunk_pool::bytes(shape_.chunk_bytes, shape_.chunks);
  }
  [[nodiscard]] bool contains(std::span<std::byte const> bytes) const noexcept {
    auto const offset =
        reinterpret_cast<std::uintptr_t>(bytes.data()) - reinterpret_cast<std::uintptr_t>(file().base());
    return offset < file().size();
  }
  [[nodiscard]] counted<shared_arena> const& arena() const noexcept { return arena_; }
  [[nodiscard]] bool locked(rank_type r) const noexcept { return file().locked(r); }

 private:
  /// What `f` returns, or '!' and why it failed.
  template <class F>
  static std::string attempt(F&& f) {
    try {
      return f();
    } catch (error const& e) {
      return std::string("!") + e.what();
    }
  }

  static void check(rank_type me, std::vector<std::string> const& texts) {
    for (rank_type r = 0; r < texts.size(); ++r) {
      if (texts[r].starts_with('!')) {
        throw error(failure::join, "shared_memory, rank " + std::to_string(r) + ": " + texts[r].substr(1))
            .between(me, {r});
      }
    }
  }

  /// "doorbell", and from rank 0 "doorbell memory chunk_bytes chunks arena_bytes".
  std::string offer(rank_type me, shared_memory_options const& o) {
    std::string text = "tutti-" + unique_text();
    bells_.open(text);
    if (me == 0) {
      shape_ = o;
      std::string const name = "/tutti-" + unique_text();
      file().create(name, arenas_begin() + n_ * arena_size(), arenas_begin());
      text += " " + name + " " + std::to_string(o.chunk_bytes) + " " + std::to_string(o.chunks) + " " +
              std::to_string(o.arena_bytes);
    }
    return text;
  }

  void accept(rank_type me, std::vector<std::string> const& offers) {
    check(me, offers);
    std::vector<std::string> doorbells;
    for (std::string const& o : offers) {
      doorbells.push_back(o.substr(0, o.find(' ')));
    }
    bells_.connect(doorbells);
    if (me != 0) {
      std::string_view rest = offers[0];
      auto const word = [&rest] {
        rest.remove_prefix(rest.find(' ') + 1);
        return rest.substr(0, rest.find(' '));
      };
      auto const number = [&word] {
        std::size_t value = 0;
        for (char const digit : word()) {
          value = value * 10 + static_cast<std::size_t>(digit - '0');
        }
        return value;
      };
      file().attach(std::string(word()));
      shape_.chunk_bytes = number();
      shape_.chunks = static_cast<std::uint32_t>(number());
      shape_.arena_bytes = number();
    }
    arena_->place(arenas_begin() + me * arena_size(), shape_.arena_bytes);
    file().lock(me);
    mail().construct(me);
  }

  [[nodiscard]] shared_file& file() const noexcept { return arena_->file; }

  static constexpr std::size_t page = 4096;
  static constexpr std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }
  [[nodiscard]] std::size_t pools_begin() const noexcept { return whole_pages(mail_segment::bytes(n_)); }
  [[nodiscard]] std::size_t arenas_begin() const noexcept {
    return whole_pages(pools_begin() + n_ * chunk_pool::bytes(shape_.chunk_bytes, shape_.chunks));
  }
  [[nodiscard]] std::size_t arena_size() const noexcept { return whole_pages(shape_.arena_bytes); }

  rank_type n_;
  shared_memory_options shape_{};
  Doorbells bells_;
  counted<shared_arena> arena_ = shared_arena::create();
};

}  // namespace tutti
