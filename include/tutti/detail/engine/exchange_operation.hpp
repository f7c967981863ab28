// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/joint_operation.hpp>
#include <tutti/detail/communicator/operation_handle.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/deadline.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/topology.hpp>
#include <tutti/extend/transport.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
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

/// The end of a message that a container receives, which is resized to its length.
template <class Container>
[[nodiscard]] message_end resized_end(Container& container) {
  return {.object = &container, .is_listed = true, .fit = [](void* object, std::size_t& count) {
            auto& target = *static_cast<Container*>(object);
            target.resize(count);
            if constexpr (std::same_as<Container, any_elements>) {
              return static_cast<std::byte*>(target.data());
            } else {
              return bytes_of(tutti::elements(target));
            }
          }};
}

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
  exchange_operation(Communicator& world, operation_pool* pool) : exchange_operation(world, pool, nullptr, nullptr) {}

  /// Starts all messages. @throws as `operation::start`, and the exceptions of containers that are sent; the epoch of
  /// the communicator has failed then
  void start(numbered_label const& label, std::span<listed_message const> messages) {
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

 protected:
  exchange_operation(Communicator& world, operation_pool* pool, void (*search)(joint_operation&),
                     void (*report_search)(joint_operation&, bool))
      : joint_operation(access::state(world), pool,
                        {.make_room =
                             [](untyped_operation& next, untyped_operation& announcement) {
                               static_cast<part&>(next).make_room(static_cast<part&>(announcement).length);
                             },
                         .search = search,
                         .report_search = report_search}),
        world_(world.alias()) {}

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

 private:
  std::vector<owner<part>> parts_;
};

/// An operation of the first message that arrives from any rank from which no other operation receives. Operations
/// search in order of starting. Ranks take turns: the search begins behind the sender of the last message.
template <class Communicator, class Edge>
class any_sender_operation : public exchange_operation<Communicator, Edge> {
  using base = exchange_operation<Communicator, Edge>;
  using base::world_;

 public:
  any_sender_operation(Communicator& world, operation_pool* pool)
      : base(
            world, pool, [](joint_operation& self) { static_cast<any_sender_operation&>(self).search(); },
            [](joint_operation& self, bool blocks) {
              static_cast<any_sender_operation&>(self).report_search(blocks);
            }) {}

  /// Starts the search. `sender` is set when the message arrives.
  void start(untyped_operation::numbered_label const& label, listed_message const& m, call const& search_record,
             rank_type& sender) {
    this->open();
    this->clear();
    if (this->call_record().identity != search_record.identity || this->label_number() != label.number) {
      this->call_record() = search_record;
      message_record_ = *m.record;
      this->set_label(label_of_message_ = label);
    }
    this->call_record().count = m.count;
    message_ = m;
    message_.record = &message_record_;
    sender_ = &sender;
    number_of_search_ = this->state_.searches.reserve(0);
    this->recorded_at_ = this->state_.recent.start(this->call_, this->number_);
  }

 private:
  void search() {
    rank_type const size = world_.size();
    bool const is_next = this->state_.searches.may_begin(0, number_of_search_);
    for (rank_type k = 0; is_next && k != size; ++k) {
      rank_type const peer = (this->state_.next_sender + k) % size;
      if (peer != world_.rank() && this->state_.receives.is_idle(peer) &&
          world_.transport().has_message(peer, {transfer_lane, 0})) {
        this->state_.next_sender = peer + 1;
        this->state_.searches.end(0);
        this->state_.recent.finish(this->recorded_at_, recorder::state::completed);
        message_.pair = {peer, world_.rank()};
        *sender_ = peer;
        static_cast<void>(base::start(message_, label_of_message_, 0));
        return;
      }
    }
    if (world_.transport().fault()) {
      this->end_with_fault();
    }
  }

  /// Reports a wait for no rank in particular; revokes the epoch if all other ranks have left.
  void report_search(bool blocks) {
    auto& transport = world_.transport();
    if constexpr (reports_waits<typename Communicator::transport_type>) {
      transport.publish_wait({.flow = {transfer_lane, 0}, .blocks_program = blocks, .call = this->call_});
    }
    if constexpr (notices_departure<typename Communicator::transport_type>) {
      rank_type present_count = 0;
      rank_type last_absent = no_rank;
      for (rank_type peer = 0; peer != world_.size(); ++peer) {  // all are asked, since a transport notices a loss here
        if (peer != world_.rank()) {
          bool const is_absent = transport.has_left(peer) && !transport.has_message(peer, {transfer_lane, 0});
          present_count += is_absent ? 0 : 1;
          last_absent = is_absent ? peer : last_absent;
        }
      }
      if (present_count == 0) {
        transport.revoke({failure::peer_lost, last_absent, world_.rank()});
      }
    }
  }

  listed_message message_{};
  call message_record_;
  untyped_operation::numbered_label label_of_message_;
  rank_type* sender_ = nullptr;
  std::uint64_t number_of_search_ = 0;
};

/// The common part of operators whose operations are joint ones: keeps and starts them.
template <class Communicator, class Operation>
class joint_launcher {
 public:
  explicit joint_launcher(Communicator& world)
      : world_(world.alias()),
        pool_(new operation_pool(
            [](untyped_operation& operation) noexcept { delete &static_cast<Operation&>(operation); })),
        deadline_(world.deadline()) {}

  [[nodiscard]] Communicator& world() const noexcept { return world_; }
  [[nodiscard]] duration deadline() const noexcept { return deadline_; }
  void deadline(duration limit) { deadline_ = expect_deadline(limit); }
  [[nodiscard]] std::string_view label() const noexcept { return label_.text; }
  void label(std::string_view text) noexcept { label_.set(text); }

  /// Starts an operation with these arguments.
  /// @throws precondition_error if the call is refused, and as `start` of the operation
  template <class... Arguments>
  [[nodiscard]] operation_handle launch(Arguments&&... arguments) {
    rank_state& state = access::state(world_);
    call_guard guard(state);
    progress_list::take(state);
    untyped_operation* const idle = pool_->take();
    Operation& next =
        idle != nullptr ? static_cast<Operation&>(*idle) : pool_->adopt(new Operation(world_, pool_.get()));
    next.set_limit(deadline_);
    try {
      next.start(label_, arguments...);
    } catch (...) {
      next.retire();
      throw;
    }
    operation_handle handle(next);
    state.operations.push_back(next);
    state.advance_operations();  // the first messages leave now
    guard.end();
    return handle;
  }

 private:
  mutable Communicator world_;
  owner<operation_pool, operation_pool::leave> pool_;
  duration deadline_;
  untyped_operation::numbered_label label_;
};

}  // namespace tutti::detail::engine
