// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/slot_layout.hpp>
#include <tutti/cuda/detail/device/slot_memory.hpp>
#include <tutti/cuda/detail/device/stager.hpp>
#include <tutti/cuda/detail/device/vector_parts.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/memory_source.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tutti::inline v0_1_0::detail::device {

template <stager D>
class staging;

/// A range of elements of a vector.
struct element_range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// A vector of one operation whose parts pass through slots of host memory. The gate of the operation's segments.
template <stager D>
class staged_vector {
 public:
  staged_vector(staging<D>& in, void const* owner) noexcept : in_(in), owner_(owner) {}
  staged_vector(staged_vector const&) = delete;
  staged_vector& operator=(staged_vector const&) = delete;

  /// Describes the next operation. `given` are the elements that it reads on the device, `wanted` those that it writes
  /// there.
  /// @throws precondition_error if a slot has no room for an element of each block
  void prepare(memories const& on_device, std::size_t count, std::uint32_t blocks, slot_layout const& layout,
               element_range given, element_range wanted) {
    room_ = layout.room(in_.slot_bytes());
    expects(room_ >= blocks, "a slot of ", in_.slot_bytes(), " bytes has room for ", room_, " elements that take ",
            layout.each(), " bytes each, and a topology with ", blocks,
            " blocks needs one of each: raise the transport's option slot_bytes");
    parts_ = vector_parts(count, blocks, room_);
    device_ = on_device;
    layout_ = layout;
    given_ = given;
    wanted_ = wanted;
    next_ = nullptr;
    filled_ = 0;
    ended_ = 0;
    marked_ = reached_ = released_ = held_ = told_ = false;
  }

  // --- for segments

  [[nodiscard]] std::uint32_t segments() const noexcept { return parts_.number(); }
  [[nodiscard]] std::size_t count(std::uint32_t part) const noexcept { return parts_.count(part); }
  /// True if all elements of a part that the operation reads are in `memory(part)`.
  [[nodiscard]] bool may_begin(std::uint32_t part) { return in_.may_begin(*this, part); }
  [[nodiscard]] memories memory(std::uint32_t part) const noexcept {
    return layout_.in(in_.slot_of(first_ + part), room_);
  }
  /// Notes that the segment does not use the part's memory any more.
  void has_ended(std::uint32_t part) { in_.empty(*this, part); }

 private:
  friend class staging<D>;

  /// True if the stream has reached the operation.
  [[nodiscard]] bool reached() {
    reached_ = reached_ || (marked_ && before_.passed());
    return reached_;
  }
  /// True if the stream has passed the operation and no longer reads the word that held it. Also true for a device
  /// that has failed.
  [[nodiscard]] bool is_past() const noexcept {
    try {
      return !held_ || behind_.passed();
    } catch (std::runtime_error const&) {
      return true;
    }
  }

  staging<D>& in_;
  void const* owner_;
  untyped_operation* operation_ = nullptr;
  staged_vector* next_ = nullptr;  ///< the next vector that was enqueued
  typename D::mark before_;
  typename D::mark behind_;
  vector_parts parts_;
  slot_layout layout_;
  memories device_;
  element_range given_;
  element_range wanted_;
  std::size_t room_ = 0;      ///< elements per slot
  std::uint64_t first_ = 0;   ///< number of its first part among all parts of this rank
  std::uint64_t ticket_ = 0;  ///< value of `released` at which the stream continues
  std::uint32_t filled_ = 0;  ///< parts that have or had a slot
  std::uint32_t ended_ = 0;
  bool marked_ = false;
  bool reached_ = false;
  bool released_ = false;
  bool held_ = false;
  bool told_ = false;  ///< its end has been recorded
};

/// One rank's slots of host memory, and the operations whose parts pass through them, in the order of `enqueue`. So
/// the oldest part, which other ranks wait for first, always gets a slot.
///
/// Once a stream has reached an operation, its parts are copied into slots. The engine runs a part there; it is copied
/// back, and then the slot is free for another part. A stream continues when its whole operation has been copied back,
/// after the streams of earlier operations.
template <stager D>
class staging {
 public:
  using vector = staged_vector<D>;
  using stream_type = typename D::stream_type;

  staging(D& by, std::uint32_t slot_count, std::size_t slot_bytes)
      : by_(by),
        slot_bytes_(slot_bytes),
        memory_(new slot_memory<D>(by, sizeof(words) + slot_count * slot_bytes)),
        words_(reinterpret_cast<words*>(memory_->data())),
        slots_(slot_count) {}
  staging(staging const&) = delete;
  staging& operator=(staging const&) = delete;
  ~staging() {
    if (!inherited()) {
      if_device_works([this] { by_.finish(); });
    }
  }

  /// The memory of all slots.
  [[nodiscard]] intrusive_pointer<memory_source> memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::byte* slot_of(std::uint64_t part) const noexcept {
    return memory_->data() + sizeof(words) + part % slots_.size() * slot_bytes_;
  }

  // --- operations

  /// Appends an operation to the list. @pre it has been prepared
  void append(vector& v, untyped_operation& operation) noexcept {
    v.operation_ = &operation;
    operation_use::begin(operation);
    v.first_ = parts_;
    v.ticket_ = ++enqueued_;
    parts_ += v.parts_.number();
    *end_ = &v;
    end_ = &v.next_;
    if (!stopped_) {
      filling_ = filling_ == nullptr ? &v : filling_;
      releasing_ = releasing_ == nullptr ? &v : releasing_;
    }
  }
  /// Enqueues the operation in a stream, which is held until the operation has ended.
  void hold(vector& v, stream_type const& in) {
    v.before_.set(in);
    v.marked_ = true;
    by_.hold(in, &words_->released, v.ticket_);
    v.behind_.set(in);
    v.held_ = true;
  }
  /// Keeps the error of the first failed operation, and releases operations that streams have passed.
  void collect() {
    for (vector** link = &first_; *link != nullptr;) {
      vector& v = **link;
      if (!v.told_ && v.operation_->has_ended() && (v.released_ || stopped_)) {
        v.told_ = true;
        try {
          v.operation_->throw_failure();
        } catch (...) {
          failure_ = failure_ ? failure_ : std::current_exception();
        }
      }
      if (!v.told_ || !v.is_past()) {
        link = &v.next_;
        continue;
      }
      *link = v.next_;
      end_ = end_ == &v.next_ ? link : end_;
      operation_use::end(*v.operation_);
    }
  }
  /// @throws the error of the first operation that has failed
  void expect_results() const {
    if (failure_) [[unlikely]] {
      std::rethrow_exception(failure_);
    }
  }
  /// Waits until an owner's operations have ended, within their deadlines, and their streams have passed them. `world`
  /// has this staging. Operations of another world that hold the same stream advance in this thread.
  template <class Communicator>
  void finish(Communicator const& world, void const* owner) noexcept {
    cancellation_shield const throughout(cancellation_shield::points::silent);
    if (inherited()) {  // the operations continue in the parent
      for (vector* v = first_; v != nullptr; v = v->next_) {
        if (v->owner_ == owner) {
          v->operation_->cancel();
        }
      }
      return;
    }
    vector* last = nullptr;
    for (vector* v = first_; v != nullptr; v = v->next_) {
      last = v->owner_ == owner ? v : last;
    }
    for (vector* v = first_; last != nullptr; v = v->next_) {  // streams continue in order
      if (!v->operation_->has_ended()) {
        try {
          static_cast<void>(v->operation_->wait(no_deadline));
        } catch (...) {  // another thread uses the communicator
          v->operation_->cancel();
        }
      }
      if (v == last) {
        break;
      }
    }
    time_point looked = world.transport().now();
    for (vector* v = first_; v != nullptr; v = v->next_) {
      while (v->owner_ == owner && !v->is_past()) {
        try {
          world.poll();
          if (time_point const now = world.transport().now(); now - looked >= between_looks) {
            looked = now;
            access::state(world).probe();
          }
        } catch (...) {  // the error of an operation, which reports it itself
        }
        std::this_thread::yield();
      }
    }
    collect();
  }
  /// Ends operations that are late. A deadline counts from the first check after the stream has reached the operation.
  void meet_deadlines() {
    for (vector* v = first_; v != nullptr; v = v->next_) {
      if (!v->operation_->has_ended() && v->reached()) {
        v->operation_->check_deadline();
      }
    }
  }
  /// True if this rank has work that waits for its device.
  [[nodiscard]] bool awaits_device() const noexcept { return filling_ != nullptr || read(words_->filled) != fills_; }

  /// Ends all copies for good, and lets all streams continue. Device memory is not written afterwards.
  void stop() noexcept {
    if (stopped_) {
      return;
    }
    stopped_ = true;
    filling_ = releasing_ = nullptr;
    if_device_works([this] { by_.finish(); });
    std::atomic_ref(words_->released).store(everything, std::memory_order_release);
  }

  // --- for vectors

  [[nodiscard]] bool may_begin(vector const& v, std::uint32_t part) {
    fill();
    return !stopped_ && part < v.filled_ && read(words_->filled) >= slot(v, part).fill;
  }
  /// Copies a part back after the engine has finished it.
  void empty(vector& v, std::uint32_t part) {
    if (stopped_) {
      return;
    }
    std::byte const* const from = v.memory(part).output;
    std::size_t const size = v.layout_.output();
    bool some = false;
    v.parts_.each_run(part, v.wanted_.begin, v.wanted_.end, [&](std::size_t at, std::size_t place, std::size_t n) {
      some = true;
      by_.upload(v.device_.write(memory::output, at, size), from + place * size, n * size);
    });
    slot_state& s = slot(v, part);
    s.is_used = false;
    s.empty = 0;
    if (some) {
      s.empty = ++empties_;
      by_.tell_uploaded(&words_->emptied, s.empty);
    }
    ++v.ended_;
    release();
  }

 private:
  /// True in a forked child, which must not use the device.
  [[nodiscard]] bool inherited() const noexcept { return made_in_ != fork_guard::generation(); }

  /// Written by streams and read by the host, or vice versa. Each has its own cache line.
  struct words {
    alignas(64) std::uint64_t filled;
    alignas(64) std::uint64_t emptied;
    alignas(64) std::uint64_t released;
  };
  struct slot_state {
    bool is_used = false;
    std::uint64_t fill = 0;   ///< value of `filled` once the slot has been filled
    std::uint64_t empty = 0;  ///< value of `emptied` once the slot may be filled again
  };
  static constexpr std::uint64_t everything = std::uint64_t{1} << 62;

  [[nodiscard]] static std::uint64_t read(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }
  [[nodiscard]] slot_state& slot(vector const& v, std::uint32_t part) noexcept {
    return slots_[(v.first_ + part) % slots_.size()];
  }
  /// Begins to fill free slots with parts of operations that streams have reached.
  void fill() {
    while (filling_ != nullptr) {
      vector& v = *filling_;
      slot_state& s = slot(v, v.filled_);
      if (s.is_used || read(words_->emptied) < s.empty || !v.reached()) {
        return;
      }
      s.is_used = true;
      s.fill = 0;
      std::uint32_t const part = v.filled_++;
      if (v.filled_ == v.parts_.number()) {
        filling_ = v.next_;
      }
      download(v, part, s);
    }
  }
  void download(vector const& v, std::uint32_t part, slot_state& s) {
    std::size_t const size = v.layout_.input();
    std::byte* const to = const_cast<std::byte*>(v.memory(part).input);
    bool some = false;
    v.parts_.each_run(part, v.given_.begin, v.given_.end, [&](std::size_t at, std::size_t place, std::size_t n) {
      some = true;
      by_.download(to + place * size, v.device_.read(memory::input, at, size), n * size);
    });
    if (some) {
      s.fill = ++fills_;
      by_.tell_downloaded(&words_->filled, s.fill);
    }
  }
  /// Lets streams of operations continue, in order, once everything is being copied back.
  void release() {
    std::uint64_t last = 0;
    for (; releasing_ != nullptr && releasing_->ended_ == releasing_->parts_.number(); releasing_ = releasing_->next_) {
      releasing_->released_ = true;
      last = releasing_->ticket_;
    }
    if (last != 0) {
      by_.tell_uploaded(&words_->released, last);
    }
  }
  /// Calls `f`, ignoring errors of a failed device, which copies nothing.
  template <class F>
  static void if_device_works(F const& f) noexcept {
    try {
      f();
    } catch (std::runtime_error const&) {
    }
  }

  D& by_;
  std::uint32_t made_in_ = fork_guard::generation();  ///< detects a forked child
  std::size_t slot_bytes_;
  intrusive_pointer<slot_memory<D>> memory_;
  words* words_;
  std::vector<slot_state> slots_;
  vector* first_ = nullptr;  ///< vectors that have not been collected
  vector** end_ = &first_;
  vector* filling_ = nullptr;    ///< first vector with a part that has had no slot
  vector* releasing_ = nullptr;  ///< first vector whose stream is held
  std::uint64_t parts_ = 0;
  std::uint64_t enqueued_ = 0;
  std::uint64_t fills_ = 0;
  std::uint64_t empties_ = 0;
  std::exception_ptr failure_;
  bool stopped_ = false;
};

}  // namespace tutti::detail::device
