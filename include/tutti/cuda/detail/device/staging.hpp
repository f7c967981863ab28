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
  staged_vector(staging<D>& parent, void const* owner) noexcept : staging_(parent), owner_(owner) {}
  staged_vector(staged_vector const&) = delete;
  staged_vector& operator=(staged_vector const&) = delete;

  /// Describes the next operation. It reads `input_range` on the device, and writes `output_range` there.
  /// @throws precondition_error if a slot has no room for an element of each block
  void prepare(memories const& device_buffers, std::size_t count, std::uint32_t blocks, slot_layout const& layout,
               element_range input_range, element_range output_range) {
    room_ = layout.room(staging_.slot_bytes());
    expects(room_ >= blocks, "a slot of ", staging_.slot_bytes(), " bytes holds ", room_, " elements of ",
            layout.element_bytes(), " bytes, but a topology with ", blocks,
            " blocks needs one for each block: raise the transport's option slot_bytes");
    parts_ = vector_parts(count, blocks, room_);
    device_buffers_ = device_buffers;
    layout_ = layout;
    input_range_ = input_range;
    output_range_ = output_range;
    next_ = nullptr;
    filled_count_ = 0;
    ended_count_ = 0;
    is_marked_ = is_reached_ = is_released_ = is_held_ = is_recorded_ = false;
  }

  // --- for segments

  [[nodiscard]] std::uint32_t segments() const noexcept { return parts_.number(); }
  [[nodiscard]] std::size_t count(std::uint32_t part) const noexcept { return parts_.count(part); }
  /// True if all elements of a part that the operation reads are in `memory(part)`.
  [[nodiscard]] bool may_begin(std::uint32_t part) { return staging_.may_begin(*this, part); }
  [[nodiscard]] memories memory(std::uint32_t part) const noexcept {
    return layout_.memories_in(staging_.slot_of(first_ + part), room_);
  }
  /// Notes that the segment does not use the part's memory any more.
  void has_ended(std::uint32_t part) { staging_.empty(*this, part); }

 private:
  friend class staging<D>;

  /// True if the stream has reached the operation.
  [[nodiscard]] bool is_reached() {
    is_reached_ = is_reached_ || (is_marked_ && start_mark_.has_passed());
    return is_reached_;
  }
  /// True if the stream has passed the operation and no longer reads the word that held it. Also true for a device
  /// that has failed.
  [[nodiscard]] bool is_past() const noexcept {
    try {
      return !is_held_ || end_mark_.has_passed();
    } catch (std::runtime_error const&) {
      return true;
    }
  }

  staging<D>& staging_;
  void const* owner_;
  untyped_operation* operation_ = nullptr;
  staged_vector* next_ = nullptr;  ///< the next vector that was enqueued
  typename D::mark start_mark_;
  typename D::mark end_mark_;
  vector_parts parts_;
  slot_layout layout_;
  memories device_buffers_;
  element_range input_range_;
  element_range output_range_;
  std::size_t room_ = 0;            ///< elements per slot
  std::uint64_t first_ = 0;         ///< number of its first part among all parts of this rank
  std::uint64_t ticket_ = 0;        ///< value of `released_ticket` at which the stream continues
  std::uint32_t filled_count_ = 0;  ///< parts that have or had a slot
  std::uint32_t ended_count_ = 0;
  bool is_marked_ = false;
  bool is_reached_ = false;
  bool is_released_ = false;
  bool is_held_ = false;
  bool is_recorded_ = false;  ///< its end has been recorded
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

  staging(D& driver, std::uint32_t slot_count, std::size_t slot_bytes)
      : driver_(driver),
        slot_bytes_(slot_bytes),
        memory_(new slot_memory<D>(driver, sizeof(words) + slot_count * slot_bytes)),
        words_(reinterpret_cast<words*>(memory_->data())),
        slots_(slot_count) {}
  staging(staging const&) = delete;
  staging& operator=(staging const&) = delete;
  ~staging() {
    if (!is_forked_child()) {
      if_device_works([this] { driver_.finish(); });
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
    v.ticket_ = ++enqueued_count_;
    parts_ += v.parts_.number();
    *end_ = &v;
    end_ = &v.next_;
    if (!is_stopped_) {
      filling_ = filling_ == nullptr ? &v : filling_;
      releasing_ = releasing_ == nullptr ? &v : releasing_;
    }
  }
  /// Enqueues the operation in a stream, which is held until the operation has ended.
  void hold(vector& v, stream_type const& stream) {
    v.start_mark_.set(stream);
    v.is_marked_ = true;
    driver_.hold(stream, &words_->released_ticket, v.ticket_);
    v.end_mark_.set(stream);
    v.is_held_ = true;
  }
  /// Keeps the error of the first failed operation, and releases operations that streams have passed.
  void collect() {
    for (vector** link = &first_; *link != nullptr;) {
      vector& v = **link;
      if (!v.is_recorded_ && v.operation_->has_ended() && (v.is_released_ || is_stopped_)) {
        v.is_recorded_ = true;
        try {
          v.operation_->throw_failure();
        } catch (...) {
          failure_ = failure_ ? failure_ : std::current_exception();
        }
      }
      if (!v.is_recorded_ || !v.is_past()) {
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
    cancellation_shield const guard(cancellation_shield::points::silent);
    if (is_forked_child()) {  // the operations continue in the parent
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
    time_point check_time = world.transport().now();
    for (vector* v = first_; v != nullptr; v = v->next_) {
      while (v->owner_ == owner && !v->is_past()) {
        try {
          world.poll();
          if (time_point const now = world.transport().now(); now - check_time >= between_looks) {
            check_time = now;
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
      if (!v->operation_->has_ended() && v->is_reached()) {
        v->operation_->check_deadline();
      }
    }
  }
  /// True if this rank has work that waits for its device.
  [[nodiscard]] bool awaits_device() const noexcept {
    return filling_ != nullptr || read(words_->filled_count) != fill_count_;
  }

  /// Ends all copies for good, and lets all streams continue. Device memory is not written afterwards.
  void stop() noexcept {
    if (is_stopped_) {
      return;
    }
    is_stopped_ = true;
    filling_ = releasing_ = nullptr;
    if_device_works([this] { driver_.finish(); });
    std::atomic_ref(words_->released_ticket).store(all_tickets, std::memory_order_release);
  }

  // --- for vectors

  [[nodiscard]] bool may_begin(vector const& v, std::uint32_t part) {
    fill();
    return !is_stopped_ && part < v.filled_count_ && read(words_->filled_count) >= slot(v, part).fill;
  }
  /// Copies a part back after the engine has finished it.
  void empty(vector& v, std::uint32_t part) {
    if (is_stopped_) {
      return;
    }
    std::byte const* const source = v.memory(part).output;
    std::size_t const size = v.layout_.output();
    bool has_elements = false;
    v.parts_.for_each_run(
        part, v.output_range_.begin, v.output_range_.end, [&](std::size_t at, std::size_t place, std::size_t n) {
          has_elements = true;
          driver_.upload(v.device_buffers_.write(memory::output, at, size), source + place * size, n * size);
        });
    slot_state& s = slot(v, part);
    s.is_used = false;
    s.empty = 0;
    if (has_elements) {
      s.empty = ++empty_count_;
      driver_.signal_uploads(&words_->emptied_count, s.empty);
    }
    ++v.ended_count_;
    release();
  }

 private:
  /// True in a forked child, which must not use the device.
  [[nodiscard]] bool is_forked_child() const noexcept { return generation_ != fork_guard::generation(); }

  /// Written by streams and read by the host, or vice versa. Each has its own cache line.
  struct words {
    alignas(64) std::uint64_t filled_count;
    alignas(64) std::uint64_t emptied_count;
    alignas(64) std::uint64_t released_ticket;
  };
  struct slot_state {
    bool is_used = false;
    std::uint64_t fill = 0;   ///< value of `filled_count` once the slot has been filled
    std::uint64_t empty = 0;  ///< value of `emptied_count` once the slot may be filled again
  };
  static constexpr std::uint64_t all_tickets = std::uint64_t{1} << 62;

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
      slot_state& s = slot(v, v.filled_count_);
      if (s.is_used || read(words_->emptied_count) < s.empty || !v.is_reached()) {
        return;
      }
      s.is_used = true;
      s.fill = 0;
      std::uint32_t const part = v.filled_count_++;
      if (v.filled_count_ == v.parts_.number()) {
        filling_ = v.next_;
      }
      download(v, part, s);
    }
  }
  void download(vector const& v, std::uint32_t part, slot_state& s) {
    std::size_t const size = v.layout_.input();
    std::byte* const destination = const_cast<std::byte*>(v.memory(part).input);
    bool has_elements = false;
    v.parts_.for_each_run(
        part, v.input_range_.begin, v.input_range_.end, [&](std::size_t at, std::size_t place, std::size_t n) {
          has_elements = true;
          driver_.download(destination + place * size, v.device_buffers_.read(memory::input, at, size), n * size);
        });
    if (has_elements) {
      s.fill = ++fill_count_;
      driver_.signal_downloads(&words_->filled_count, s.fill);
    }
  }
  /// Lets streams of operations continue, in order, once everything is being copied back.
  void release() {
    std::uint64_t last = 0;
    for (; releasing_ != nullptr && releasing_->ended_count_ == releasing_->parts_.number();
         releasing_ = releasing_->next_) {
      releasing_->is_released_ = true;
      last = releasing_->ticket_;
    }
    if (last != 0) {
      driver_.signal_uploads(&words_->released_ticket, last);
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

  D& driver_;
  std::uint32_t generation_ = fork_guard::generation();  ///< detects a forked child
  std::size_t slot_bytes_;
  intrusive_pointer<slot_memory<D>> memory_;
  words* words_;
  std::vector<slot_state> slots_;
  vector* first_ = nullptr;  ///< vectors that have not been collected
  vector** end_ = &first_;
  vector* filling_ = nullptr;    ///< first vector with a part that has had no slot
  vector* releasing_ = nullptr;  ///< first vector whose stream is held
  std::uint64_t parts_ = 0;
  std::uint64_t enqueued_count_ = 0;
  std::uint64_t fill_count_ = 0;
  std::uint64_t empty_count_ = 0;
  std::exception_ptr failure_;
  bool is_stopped_ = false;
};

}  // namespace tutti::detail::device
