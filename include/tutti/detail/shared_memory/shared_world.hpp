// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/shared_memory/chunk_ring.hpp>
#include <tutti/detail/shared_memory/mail_segment.hpp>
#include <tutti/detail/shared_memory/shared_arena.hpp>
#include <tutti/detail/shared_memory/shared_locations.hpp>
#include <tutti/detail/shared_memory/shared_peers.hpp>
#include <tutti/detail/shared_memory/sleep_barrier.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/shared_memory_options.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Rank 0's contact: the name of its memory, and the sizes of the parts of that.
struct memory_contact {
  std::string_view name;
  shared_memory_options shape;

  [[nodiscard]] TUTTI_COLD static std::string text(std::string const& name, shared_memory_options const& o) {
    return name + " " + std::to_string(o.chunk_bytes) + " " + std::to_string(o.ring_bytes) + " " +
           std::to_string(o.arena_bytes) + " " + std::to_string(o.attach_from);
  }
  /// @throws error(failure::join) if the text is no contact
  [[nodiscard]] TUTTI_COLD static memory_contact parse(std::string_view text) {
    word_reader words(text);
    memory_contact contact{words.word(), {}};
    for (std::size_t* const size : {&contact.shape.chunk_bytes, &contact.shape.ring_bytes, &contact.shape.arena_bytes,
                                    &contact.shape.attach_from}) {
      *size = words.number<std::size_t>();
    }
    if (!words.good() || !words.empty() || !has_whole_lines(contact.shape)) {
      throw error(failure::join,
                  "rank 0 has published '" + std::string(text.substr(0, 80)) +
                      "', which is no memory of shared_memory: all ranks must have one version of tutti");
    }
    return contact;
  }
  [[nodiscard]] static bool has_whole_lines(shared_memory_options const& o) noexcept {
    return o.chunk_bytes != 0 && o.chunk_bytes % cache_line == 0 && o.ring_bytes % cache_line == 0;
  }
};

/// Makes a shared_memory world, and holds one rank's share of it. Three exchanges, after which all ranks know of a
/// failure:
///
///     offer    all: doorbell, own process, memory for a read test, cores
///     contact  all connect the doorbells; rank 0 makes the memory: its name, sizes
///     enter    all map the memory and construct their part: can read all others, can fence remotely
///
/// A world that is split from another uses that one's memory and processes. Its first rank allocates there for all.
template <class Doorbells>
class shared_world {
 public:
  template <rendezvous M>
  TUTTI_COLD shared_world(M& meet, shared_memory_options const& requested_options)
      : ranks_(meet.size()), parts_(meet.size()) {
    shared_memory_options const o = filled_in(requested_options, false);
    expects(
        memory_contact::has_whole_lines(o),
        "shared_memory_options: chunk_bytes must be a multiple of 64 above 0, and ring_bytes a multiple of 64, not ",
        o.chunk_bytes, " and ", o.ring_bytes);
    // A rank that fails still takes part in all exchanges, so that all learn of it at once.
    auto const offers = meet.exchange(attempt(meet, [&] { return offer(meet); }));
    std::string const contact_text =
        attempt(meet, [&] { return has_failure(offers) ? "" : contact(meet, offers, requested_options); });
    rank_type const sharers = allotment_.set_ranks(1);  // the others may take their shares from now on
    auto const contacts = meet.exchange(contact_text);
    bool const has_memory = !has_failure(contacts);
    if (!has_memory) {
      allotment_.set_ranks(sharers);  // after a failure no rank takes its share
    }
    auto const answers = meet.exchange(
        attempt(meet, [&] { return has_failure(offers) || !has_memory ? "" : enter(meet, offers, contacts); }));
    if constexpr (splits<M>) {
      for (rank_type r = 1; has_memory && meet.rank() == 0 && r < ranks_; ++r) {
        if (answers[r].starts_with('!')) {
          shared_arena::end_use(memory_, 1);  // in place of rank r, which failed
        }
      }
    }
    throw_failure(meet, offers);
    throw_failure(meet, contacts);
    throw_failure(meet, answers);
    use_answers(answers);
  }
  shared_world(shared_world const&) = delete;
  shared_world& operator=(shared_world const&) = delete;

  [[nodiscard]] mail_segment mail() const noexcept { return {memory_, ranks_}; }
  [[nodiscard]] Doorbells& bells() noexcept { return bells_; }
  [[nodiscard]] shared_memory_options const& shape() const noexcept { return shape_; }
  [[nodiscard]] shared_locations locations() const noexcept { return {memory_, bytes(), *arena_, parts_.get()}; }
  /// The memory to which a rank copies messages.
  [[nodiscard]] chunk_ring chunks(rank_type r) const { return {memory_ + ring_begin(r), ring()}; }
  [[nodiscard]] sleep_barrier barrier() const noexcept { return sleep_barrier(remote_fences_); }
  /// Copies from another rank's private memory, unless that process has become another program. @pre
  /// `shape().attach_from` allows it
  [[nodiscard]] bool copy(rank_type owner, std::uintptr_t address, std::byte* target,
                          std::size_t bytes) const noexcept {
    return peers_->copy(parts_[owner], address, target, bytes) && bells_.reaches(owner);
  }
  [[nodiscard]] intrusive_pointer<shared_arena> const& arena() const noexcept { return arena_; }
  /// True if the process of another rank has ended or executes another program.
  [[nodiscard]] bool has_ended(rank_type r) const noexcept {
    return !bells_.reaches(r) || peers_->processes.has_ended(parts_[r]);
  }

 private:
  /// True if the members of a rendezvous have such a world already.
  template <class M>
  static constexpr bool splits = requires(M const& m, rank_type r) {
    { m.transport().world() } -> std::same_as<shared_world const&>;
    { m.parent_rank(r) } -> std::same_as<rank_type>;
  };

  static shared_memory_options filled_in(shared_memory_options o, bool is_oversubscribed) noexcept {
    ring_shape const defaults = ring_shape::recommend(is_oversubscribed);
    o.chunk_bytes = o.chunk_bytes == shared_memory_options::as_suits ? defaults.chunk_bytes : o.chunk_bytes;
    o.ring_bytes = o.ring_bytes == shared_memory_options::as_suits ? defaults.ring_bytes : o.ring_bytes;
    return o;
  }

  /// Calls `f`. Returns its text, or '!' and its failure, with the numbers of ranks in the world.
  template <class M, class F>
  TUTTI_COLD static std::string attempt(M const& meet, F&& f) {
    try {
      return f();
    } catch (...) {
      rank_failure reason = current_failure();
      for (rank_type& r : reason.at_fault) {
        r = world_rank(meet, r);
      }
      return '!' + encode(reason);
    }
  }

  static bool has_failure(std::vector<std::string> const& texts) noexcept {
    for (std::string const& text : texts) {
      if (text.starts_with('!')) {
        return true;
      }
    }
    return false;
  }
  template <class M>
  TUTTI_COLD static void throw_failure(M const& meet, std::vector<std::string> const& texts) {
    for (rank_type r = 0; r < texts.size(); ++r) {
      if (texts[r].starts_with('!')) {
        rank_type const failed_rank = world_rank(meet, r);
        rank_failure reason;
        static_cast<void>(decode(std::string_view(texts[r]).substr(1), reason));
        throw error(failure::join, "shared_memory, rank " + std::to_string(reported_rank(meet, r)) + ": " + reason.text)
            .set_ranks(world_rank(meet, meet.rank()),
                       reason.at_fault.empty() ? std::vector{failed_rank} : reason.at_fault);
      }
    }
  }

  /// Returns "doorbell memory process cores".
  template <class M>
  TUTTI_COLD std::string offer(M const& meet) {
    std::string const unique = unique_text();
    std::string text = bells_.open("tutti-" + unique);
    if constexpr (splits<M>) {
      shared_world const& whole = meet.transport().world();
      arena_ = whole.arena_;
      peers_ = whole.peers_;
      for (rank_type r = 0; r < ranks_; ++r) {
        parts_[r] = whole.parts_[meet.parent_rank(r)];
      }
      cores_ = whole.cores_;
      return text + " - - -";
    } else {
      arena_ = shared_arena::create();
      peers_ = shared_peers::create();
      for (rank_type r = 0; r < ranks_; ++r) {
        parts_[r] = r;
      }
      return text + " " + peers_->memory.offer(unique) + " " + peers_->processes.offer() + " " +
             core_set::of_thread().text();
    }
  }

  /// A share in allotted memory, given back for some of its ranks.
  class allotment {
   public:
    allotment() noexcept = default;
    allotment(std::byte* memory, rank_type ranks) noexcept : memory_(memory), ranks_(ranks) {}
    allotment& operator=(allotment&& other) noexcept {  // replaces this share, which is not given back
      memory_ = std::exchange(other.memory_, nullptr);
      ranks_ = other.ranks_;
      return *this;
    }
    /// Sets the number of ranks that it stands for, and returns the number before.
    rank_type set_ranks(rank_type ranks) noexcept { return std::exchange(ranks_, ranks); }
    ~allotment() {
      if (memory_ != nullptr && owner_ == fork_guard::generation()) {  // not in a forked child
        shared_arena::end_use(memory_, ranks_);
      }
    }

   private:
    std::byte* memory_ = nullptr;
    rank_type ranks_ = 0;
    std::uint32_t owner_ = fork_guard::generation();
  };

  std::byte* allot() {
    try {
      return arena_->allot(bytes(), ranks_);
    } catch (std::bad_alloc const& e) {
      throw error(failure::join, e.what());
    }
  }

  /// Finds the doorbells and processes of all, which lived then, as all are heard of once more. Rank 0 makes the memory
  /// and returns "name chunk_bytes ring_bytes arena_bytes attach_from".
  template <class M>
  TUTTI_COLD std::string contact(M const& meet, std::vector<std::string> const& offers,
                                 shared_memory_options const& requested_options) {
    std::vector<std::string> doorbells;
    std::vector<std::string_view> processes;
    core_set cores;
    for (std::string const& o : offers) {
      word_reader text(o);
      doorbells.emplace_back(text.word());
      text.word();
      processes.push_back(text.word());
      static_cast<void>(cores.add(text.word()));
    }
    bells_.connect(doorbells);
    if constexpr (!splits<M>) {
      cores_ = cores.usable();
      peers_->processes.open(processes);
    }
    return meet.rank() == 0 ? make_memory(meet, filled_in(requested_options, ranks_ > cores_)) : "";
  }

  template <class M>
  TUTTI_COLD std::string make_memory(M const& meet, shared_memory_options const& o) {
    shape_ = o;
    std::string memory_name;  // its location in a split world, else the identity of the file
    if constexpr (splits<M>) {
      if (meet.transport().world().shape_.attach_from == SIZE_MAX) {
        shape_.attach_from = SIZE_MAX;
      }
      memory_ = allot();
      allotment_ = allotment(memory_, ranks_);
      memory_name = std::to_string(arena_->locate(memory_));
    } else {
      file().create(table_bytes() + bytes());
      file().reserve(0, table_bytes() + mail_segment::boxes_begin(ranks_, 0));
      window_table(file().base(), ranks_).construct(table_bytes() + bytes());
      memory_name = file().identity();
    }
    return memory_contact::text(memory_name, shape_);
  }

  /// Returns "attaches fences": if this rank can read all others' memory, and if they are to run fences on it.
  template <class M>
  TUTTI_COLD std::string enter(M const& meet, std::vector<std::string> const& offers,
                               std::vector<std::string> const& contacts) {
    rank_type const me = meet.rank();
    memory_contact const memory = memory_contact::parse(contacts[0]);
    shape_ = memory.shape;
    if constexpr (splits<M>) {
      memory_ = arena_->address_of(parts_[0], word_reader(memory.name).number<std::uint64_t>());
      allotment_ = allotment(memory_, 1);
    } else {
      if (me == 0) {
        hand_file(meet);
      } else {
        take_file(memory.name);
      }
      // Each rank reserves its own part, near its core.
      std::size_t const table_end = table_bytes();
      file().reserve(table_end + mail_segment::boxes_begin(ranks_, me),
                     table_end + mail_segment::boxes_begin(ranks_, me + 1));
      file().reserve(table_end + ring_begin(me), table_end + ring_begin(me + 1));
      memory_ = file().base() + table_end;
      arena_->set_table(window_table(file().base(), ranks_), me, shape_.arena_bytes);
    }
    mail().construct(me);
    return (attaches(meet, offers) ? "1" : "0") +
           std::string(sleep_barrier::is_offered(ranks_ <= cores_) ? " 1" : " 0");
  }

  /// The time for which rank 0 tries to hand its file to the others. Less than they wait at the next exchange, unless
  /// TUTTI_TIMEOUT is shorter, so that all hear the cause of a failure.
  static constexpr duration handing_patience = join_timeout / 2;

  /// Hands rank 0's file to the others, which take it at the same time.
  template <class M>
  TUTTI_COLD void hand_file(M const& meet) {
    time_point const deadline = steady_now() + handing_patience;
    std::string reason;
    for (rank_type r = 1; r < ranks_; ++r) {
      if (reason.empty() && !bells_.hand(r, file().descriptor_to_hand(), deadline)) {
        int const code = errno;
        reason = "the shared memory cannot be handed to rank " + std::to_string(world_rank(meet, r)) + " (" +
                 describe_errno(code) + ")" +
                 (code == EPERM || code == EACCES ? "; allow processes to pass files to each other, or use tcp"
                  : code == ECONNREFUSED          ? "; it has ended"
                                                  : "; use tcp if it stays so");
      }
      if (!reason.empty()) {
        bells_.refuse(r);
      }
    }
    if (!reason.empty()) {
      throw error(failure::join, reason);
    }
  }
  TUTTI_COLD void take_file(std::string_view identity) {
    auto const is_expected = [&](descriptor const& f) { return shared_file::identity(f) == identity; };
    descriptor received_file = bells_.take(0, is_expected, steady_now() + handing_patience);
    if (!received_file) {
      int const code = errno;
      throw error(failure::join, "rank 0's shared memory cannot be taken from the local socket: " +
                                     (code == EACCES ? describe_errno(code) +
                                                           "; allow processes to pass files to each other, or use tcp"
                                      : code == EPERM ? "it came from another user; start all ranks as one, or use tcp"
                                                      : advise_on_errno(code)));
    }
    file().adopt(static_cast<descriptor&&>(received_file));
  }

  template <class M>
  bool attaches(M const&, std::vector<std::string> const& offers) {
    if constexpr (splits<M>) {
      return true;  // found out by the whole world, and told by rank 0
    } else {
      std::vector<std::string_view> memories;
      for (std::string const& o : offers) {
        word_reader text(o);
        text.word();
        memories.push_back(text.word());
      }
      return shape_.attach_from != SIZE_MAX && peers_->can_read(memories);
    }
  }

  TUTTI_COLD void use_answers(std::vector<std::string> const& answers) {
    for (std::string const& a : answers) {
      word_reader text(a);
      shape_.attach_from = text.number<std::size_t>() != 0 ? shape_.attach_from : SIZE_MAX;
      remote_fences_ = remote_fences_ && text.number<std::size_t>() != 0;
    }
  }

  [[nodiscard]] shared_file& file() const noexcept { return arena_->file; }

  static constexpr std::size_t page = 4096;
  static constexpr std::size_t whole_pages(std::size_t bytes) noexcept { return (bytes + page - 1) / page * page; }
  [[nodiscard]] ring_shape ring() const noexcept { return {shape_.ring_bytes, shape_.chunk_bytes}; }
  [[nodiscard]] std::size_t ring_begin(rank_type r) const noexcept {
    return whole_pages(mail_segment::bytes(ranks_)) + r * ring().bytes();
  }
  /// The bytes of this world's common memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return whole_pages(ring_begin(ranks_)); }
  /// The bytes of the table of windows. A file that this world makes begins with it; the common memory follows.
  [[nodiscard]] std::size_t table_bytes() const noexcept { return whole_pages(window_table::bytes(ranks_)); }

  rank_type ranks_;
  shared_memory_options shape_{};
  Doorbells bells_;
  bool remote_fences_ = true;
  std::size_t cores_ = 1;         ///< number of cores for the ranks of the whole world
  std::byte* memory_ = nullptr;   ///< memory of this world, as mapped here
  owned_array<rank_type> parts_;  ///< part of the shared memory that each rank owns: its number in the whole world
  intrusive_pointer<shared_arena> arena_;
  intrusive_pointer<shared_peers> peers_;
  allotment allotment_;  ///< memory of a split world; rank 0 holds it for all until they have found it
};

}  // namespace tutti::detail::shared_memory
