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
#include <tutti/detail/core/inheritance.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/extend/counted.hpp>
#include <tutti/extend/expects.hpp>
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

/// Which elements of a vector.
struct element_range {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// The vector of one operation whose parts go through slots of host memory; the gate of its segments.
template <stager D>
class staged_vector {
 public:
  staged_vector(staging<D>& in, void const* owner) noexcept : in_(in), owner_(owner) {}
  staged_vector(staged_vector const&) = delete;
  staged_vector& operator=(staged_vector const&) = delete;

  /// Describes what comes next. `given` are the elements that the operation reads on the device, `wanted` those that it
  /// writes there.
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
  /// Whether all elements of a part that the operation reads are where `memory` says.
  [[nodiscard]] bool may_begin(std::uint32_t part) { return in_.may_begin(*this, part); }
  [[nodiscard]] memories memory(std::uint32_t part) const noexcept {
    return layout_.in(in_.slot_of(first_ + part), room_);
  }
  /// Its memory is not the segment's any more.
  void has_ended(std::uint32_t part) { in_.empty(*this, part); }

 private:
  friend class staging<D>;

  /// Whether the stream has come to it.
  [[nodiscard]] bool reached() {
    reached_ = reached_ || (marked_ && before_.passed());
    return reached_;
  }
  /// Whether the stream has gone on, and looks at the word no more that it was held by. A device that has failed looks
  /// at nothing any more.
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
  staged_vector* next_ = nullptr;  ///< that was put into a stream after it
  typename D::mark before_;
  typename D::mark behind_;
  vector_parts parts_;
  slot_layout layout_;
  memories device_;
  element_range given_;
  element_range wanted_;
  std::size_t room_ = 0;      ///< elements of a slot
  std::uint64_t first_ = 0;   ///< the number of its first part among all of this rank
  std::uint64_t ticket_ = 0;  ///< what the word must have reached that its stream is held by
  std::uint32_t filled_ = 0;  ///< parts that have a slot, or had one
  std::uint32_t ended_ = 0;
  bool marked_ = false;
  bool reached_ = false;
  bool released_ = false;
  bool held_ = false;
  bool told_ = false;  ///< how it has ended
};

/// One rank's slots of host memory, and the operations whose parts go through them: in the order of `enqueue`, so that
/// the oldest part, which other ranks wait for first, always gets a slot.
///
/// A part is copied into its slot once its stream has come to the operation; the engine runs it there; it is copied
/// back, and the slot is another part's when that has ended. A stream goes on when all of its operation has been copied
/// back, after the streams of operations that were enqueued before.
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

  /// Of all slots.
  [[nodiscard]] counted<memory_source> memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  [[nodiscard]] std::byte* slot_of(std::uint64_t part) const noexcept {
    return memory_->data() + sizeof(words) + part % slots_.size() * slot_bytes_;
  }

  // --- operations

  /// An operation is the last one from now on. @pre it has been prepared
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
  /// It is put into a stream, which goes on when it has ended.
  void hold(vector& v, stream_type const& in) {
    v.before_.set(in);
    v.marked_ = true;
    by_.hold(in, &words_->released, v.ticket_);
    v.behind_.set(in);
    v.held_ = true;
  }
  /// Keeps the error of the first that has failed, and gives back the places of those that streams have gone past.
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
  /// @throws what the first one ended with that has failed
  void expect_results() const {
    if (failure_) [[unlikely]] {
      std::rethrow_exception(failure_);
    }
  }
  /// Waits until those of an owner have ended, as long as deadlines allow, and their streams have gone on. `world` has
  /// this staging. Where operations of another world hold the same stream, this thread moves them on.
  template <class Communicator>
  void finish(Communicator const& world, void const* owner) noexcept {
    uncancelled const throughout(uncancelled::points::none);
    if (inherited()) {  // they go on in the parent
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
    for (vector* v = first_; last != nullptr; v = v->next_) {  // streams go on in order
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
            access::state(world).look();
          }
        } catch (...) {  // the operations' own, which tell it
        }
        std::this_thread::yield();
      }
    }
    collect();
  }
  /// Ends those that are late. A deadline counts from when it was first looked for after the stream had come there.
  void meet_deadlines() {
    for (vector* v = first_; v != nullptr; v = v->next_) {
      if (!v->operation_->has_ended() && v->reached()) {
        v->operation_->check_deadline();
      }
    }
  }
  /// Whether there is something to do for this rank as soon as its device has got further.
  [[nodiscard]] bool awaits_device() const noexcept { return filling_ != nullptr || read(words_->filled) != fills_; }

  /// Ends all copies, now and for ever, and lets all streams go on. No memory of a device is written to afterwards.
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
  /// The engine is done with a part: it is copied back.
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
  /// Whether this is a copy of it in a forked child, which has no part in the device.
  [[nodiscard]] bool inherited() const noexcept { return made_in_ != inheritance::generation(); }

  /// Written by streams and read by the host, or the other way round, each in a line of its own.
  struct words {
    alignas(64) std::uint64_t filled;
    alignas(64) std::uint64_t emptied;
    alignas(64) std::uint64_t released;
  };
  struct slot_state {
    bool is_used = false;
    std::uint64_t fill = 0;   ///< what `filled` must have reached when it has been filled
    std::uint64_t empty = 0;  ///< what `emptied` must have reached when it may be filled again
  };
  static constexpr std::uint64_t everything = std::uint64_t{1} << 62;

  [[nodiscard]] static std::uint64_t read(std::uint64_t& word) noexcept {
    return std::atomic_ref(word).load(std::memory_order_acquire);
  }
  [[nodiscard]] slot_state& slot(vector const& v, std::uint32_t part) noexcept {
    return slots_[(v.first_ + part) % slots_.size()];
  }
  /// Begins to copy what has a slot now, and a stream that has come to it.
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
  /// Lets the streams go on of operations all of which is being copied back, in their order.
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
  /// A device that has failed copies nothing: there is nothing to wait for.
  template <class F>
  static void if_device_works(F const& f) noexcept {
    try {
      f();
    } catch (std::runtime_error const&) {
    }
  }

  D& by_;
  std::uint32_t made_in_ = inheritance::generation();  ///< by which process
  std::size_t slot_bytes_;
  counted<slot_memory<D>> memory_;
  words* words_;
  std::vector<slot_state> slots_;
  vector* first_ = nullptr;  ///< all that have not been collected
  vector** end_ = &first_;
  vector* filling_ = nullptr;    ///< the first one with parts that have had no slot yet
  vector* releasing_ = nullptr;  ///< the first one whose stream is held
  std::uint64_t parts_ = 0;
  std::uint64_t enqueued_ = 0;
  std::uint64_t fills_ = 0;
  std::uint64_t empties_ = 0;
  std::exception_ptr failure_;
  bool stopped_ = false;
};

}  // namespace tutti::detail::device
