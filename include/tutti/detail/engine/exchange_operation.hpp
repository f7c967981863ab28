// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/joint_operation.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/topology.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The memory of a message at one of its ends: elements, or a container of any length.
struct message_end {
  void* object = nullptr;  ///< the first element, or the container
  bool is_listed = false;  ///< the end is this rank's
  /// Null, or for a container: returns its first element. At the sender it sets the count, at the receiver it first
  /// resizes the container. @throws the exceptions of the container
  std::byte* (*fit)(void* container, std::size_t& count) = nullptr;

  [[nodiscard]] std::byte* elements(std::size_t& count) const {
    return fit == nullptr ? static_cast<std::byte*>(object) : fit(object, count);
  }
};

/// A message of an exchange. One from a rank to itself has both ends.
struct listed_message {
  op::transfer pair{};
  call const* record = nullptr;
  call const* length_record = nullptr;  ///< announces the length; null: both ranks know it
  std::size_t element_bytes = 0;
  std::size_t count = 0;  ///< elements, if both ranks know the length
  message_end source{};
  message_end target{};
};

/// An operation of several messages, each an operation, too. A message of any length is two, and the first one has the
/// length. Reused from call to call, so that a prepared exchange allocates nothing.
template <class Communicator, class Edge>
class exchange_operation : public joint_operation {
  class part : public operation<Communicator, Edge, op::transfer, moving> {
    using base = operation<Communicator, Edge, op::transfer, moving>;

   public:
    explicit part(Communicator& world) : base(world, {}, {1}) {}

    void start(call const& record, numbered_label const& label, op::transfer pair, std::size_t element_bytes,
               memories const& memory, std::size_t count) {
      if (this->call_record().identity != record.identity || this->label_number() != label.number) {
        this->call_record() = record;
        this->set_label(label);
      }
      this->call_record().count = count;
      base::start({Edge{}, 0}, pair, {element_bytes}, memory, count);
    }
    /// Makes room for a message whose length has arrived. @throws the exceptions of the container
    void make_room(std::uint64_t announced_length) {
      auto count = integer_cast<std::size_t>(announced_length);
      this->segments_.prepare(0, {.output = target.elements(count)}, count);
      this->call_.count = count;
    }

    std::uint64_t length = 0;  ///< content of a message that announces the length of the next one
    message_end target{};
  };

 public:
  exchange_operation(Communicator& world, operation_pool* pool)
      : joint_operation(access::state(world), pool,
                        [](untyped_operation& next, untyped_operation& announcement) {
                          static_cast<part&>(next).make_room(static_cast<part&>(announcement).length);
                        }),
        world_(world.alias()) {}

  /// Starts all messages. @throws as `operation::start`, and the exceptions of containers that are sent; the epoch of
  /// the communicator has failed then
  void start(std::span<listed_message const> messages, numbered_label const& label) {
    this->open();
    this->clear();
    std::size_t used_count = 0;
    try {
      for (listed_message const& m : messages) {
        used_count = start(m, label, used_count);
      }
    } catch (...) {  // peers would wait for this rank
      this->withdraw();
      throw;
    }
  }

 private:
  /// Starts a message with the parts from that one on; returns the first part that it does not use.
  [[nodiscard]] std::size_t start(listed_message const& m, numbered_label const& label, std::size_t first) {
    bool const is_announced = m.length_record != nullptr && m.pair.sender != m.pair.receiver;
    bool const follows = is_announced && m.target.is_listed;
    std::size_t count = m.count;
    memories memory;
    memory.input = m.source.is_listed ? m.source.elements(count) : nullptr;
    memory.output = m.target.is_listed && !follows ? m.target.elements(count) : nullptr;
    if (is_announced) {
      part& announcement = part_at(first++);
      announcement.length = count;
      auto* const place = reinterpret_cast<std::byte*>(&announcement.length);
      announcement.start(*m.length_record, label, m.pair, sizeof announcement.length, {.input = place, .output = place},
                         1);
      this->add(announcement, false);
    }
    part& content = part_at(first++);
    content.target = m.target;
    content.start(*m.record, label, m.pair, m.element_bytes, memory, count);
    this->add(content, follows);
    return first;
  }

  [[nodiscard]] part& part_at(std::size_t i) {
    if (i == parts_.size()) {
      parts_.emplace_back(new part(world_));
    }
    return *parts_[i];
  }

  Communicator world_;
  std::vector<owner<part>> parts_;
};

}  // namespace tutti::detail::engine
