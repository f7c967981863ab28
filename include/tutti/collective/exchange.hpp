// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/engine/exchange_operation.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/detail/topology/edge.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <cstddef>
#include <forward_list>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Several messages between this rank and others, all under way at the same time, so that no order of them is a
/// deadlock. The list is filled once and runs any number of times, such as the halos of each step.
///
///     tutti::exchange halos{world};
///     halos.send(first_row, above);
///     halos.send(last_row, below);
///     halos.recv(row_below, below);      // first what that rank sends first, if it is also the one above
///     halos.recv(row_above, above);      // (pointer, count, tutti::any_element("int32"), rank) is an end, too
///     for (;;) {
///       auto pending = halos.start();          // or halos(), blocking
///       compute_inner_rows();
///       pending.wait();
///       compute_outer_rows();
///     }
///
/// Messages from one rank to another arrive in the order of sending, those of `send` and `recv` included: these may be
/// the other end. Other ranks may list theirs in any order between pairs. A message to oneself is a copy; both of its
/// ends are in the same list, in order.
///
/// If one message fails, all do, like any operation: its error names the message.
///
/// @pre memory stays where it is while it is listed; that of two messages does not overlap
///
/// Cost: all messages at once; one operation for each, which is kept, so that a second run allocates nothing.
/// Thread safety: as the communicator.
template <group Communicator>
class exchange : public asynchronous<exchange<Communicator>> {
 public:
  /// Constructs an empty list.
  explicit exchange(Communicator& world) : launcher_(world) {}

  /// The communicator, by a handle of the exchange's own.
  [[nodiscard]] Communicator& world() const noexcept { return launcher_.world(); }
  /// The limit for a run. By default that of the communicator at construction.
  [[nodiscard]] duration deadline() const noexcept { return launcher_.deadline(); }
  /// Sets the limit for a run.
  /// @throws precondition_error if it is negative
  void deadline(duration limit) { launcher_.deadline(limit); }

  /// The label of the messages in errors, traces and the flight recorder; empty, the default: none.
  [[nodiscard]] std::string_view label() const noexcept { return launcher_.label(); }
  /// Labels the messages of later runs, as `operator_base::label` does.
  void label(std::string_view text) noexcept { launcher_.label(text); }

  /// Lists a message to a rank, which may be this one. Each run reads the elements again.
  /// @throws precondition_error if there is no such rank; if it is this one, and `recv` has another type or length
  template <lasting_buffer Data>
  void send(Data&& data, rank_type receiver) {
    using value_type = buffer_value_t<Data>;
    auto const v = elements(data);
    add({.pair = {world().rank(), receiver},
         .record = &call_record<value_type>,
         .element_bytes = sizeof(value_type),
         .count = v.size(),
         .source = {.object = const_cast<value_type*>(v.data()), .is_listed = true}});
  }
  /// Lists a message whose length is that of the container at the start of each run.
  template <class Container>
  void send(any_length<Container> data, rank_type receiver) {
    using value_type = buffer_value_t<Container&>;
    add({.pair = {world().rank(), receiver},
         .record = &call_record<value_type>,
         .length_record = &detail::length_record<value_type>,
         .element_bytes = sizeof(value_type),
         .source = {.object = const_cast<std::remove_const_t<Container>*>(&data.container),
                    .is_listed = true,
                    .fit = [](void* container, std::size_t& count) {
                      auto const v = elements(*static_cast<Container*>(container));
                      count = v.size();
                      return reinterpret_cast<std::byte*>(const_cast<value_type*>(v.data()));
                    }}});
  }
  /// Lists a message of elements of a type that is known at run time.
  void send(void const* data, std::size_t count, any_element const& type, rank_type receiver) {
    add({.pair = {world().rank(), receiver},
         .record = typed_record(type),
         .element_bytes = type.size(),
         .count = count,
         .source = {
             .object = detail::bytes_at("exchange", "the message", const_cast<void*>(data), count, type.size()).data(),
             .is_listed = true}});
  }

  /// Lists a message of elements of a type that is known at run time, whose number is that at the start of each run.
  void send(any_length<any_elements> data, rank_type receiver) {
    any_elements& v = data.container;
    static_cast<void>(detail::bytes_at("exchange", "the message", v.data(), v.capacity(), v.type().size()));
    add({.pair = {world().rank(), receiver},
         .record = typed_record(v.type()),
         .length_record = &detail::length_record_of(v),
         .element_bytes = v.type().size(),
         .source = {.object = &v, .is_listed = true, .fit = [](void* container, std::size_t& count) {
                      auto const& source = *static_cast<any_elements const*>(container);
                      count = source.size();
                      return static_cast<std::byte*>(source.data());
                    }}});
  }

  /// Lists a message from a rank, which may be this one.
  /// @throws precondition_error if there is no such rank; if it is this one, and `send` has another type or length
  template <lasting_mutable_buffer Data>
  void recv(Data&& data, rank_type sender) {
    using value_type = buffer_value_t<Data>;
    auto const v = elements(data);
    add({.pair = {sender, world().rank()},
         .record = &call_record<value_type>,
         .element_bytes = sizeof(value_type),
         .count = v.size(),
         .target = {.object = v.data(), .is_listed = true}});
  }
  /// Lists a message to whose length each run resizes the container. What the container throws ends the run, and the
  /// epoch fails.
  template <detail::resizable Container>
  void recv(any_length<Container> data, rank_type sender) {
    using value_type = buffer_value_t<Container&>;
    add({.pair = {sender, world().rank()},
         .record = &call_record<value_type>,
         .length_record = &detail::length_record<value_type>,
         .element_bytes = sizeof(value_type),
         .target = detail::resized_end(data.container)});
  }
  /// Lists a message of elements of a type that is known at run time.
  void recv(void* data, std::size_t count, any_element const& type, rank_type sender) {
    add({.pair = {sender, world().rank()},
         .record = typed_record(type),
         .element_bytes = type.size(),
         .count = count,
         .target = {.object = detail::bytes_at("exchange", "the message", data, count, type.size()).data(),
                    .is_listed = true}});
  }

  /// Lists a message of elements of a type that is known at run time, as many as are sent. If there are more than the
  /// memory holds, the run ends with a precondition_error, and the epoch fails.
  void recv(any_length<any_elements> data, rank_type sender) {
    any_elements& v = data.container;
    static_cast<void>(detail::bytes_at("exchange", "the message", v.data(), v.capacity(), v.type().size()));
    add({.pair = {sender, world().rank()},
         .record = typed_record(v.type()),
         .length_record = &detail::length_record_of(v),
         .element_bytes = v.type().size(),
         .target = detail::resized_end(v)});
  }

  /// Empties the list; a run under way is unaffected.
  void clear() noexcept {
    messages_.clear();
    typed_records_.clear();
  }

  /// Runs all messages; returns when this rank's part is done and its memory may be reused.
  /// @throws precondition_error if a message to this rank itself lacks an end; the exceptions of `start`; error like
  /// all operations
  void operator()() { start().wait(); }

  /// Starts all messages and returns their request; the memory must stay valid and untouched until it is complete.
  /// @throws precondition_error if a message to this rank itself lacks an end; std::bad_alloc, and the exceptions of
  /// containers: the epoch has failed then
  [[nodiscard]] request start() {
    for (detail::listed_message const& m : messages_) {
      expects(m.pair.sender != m.pair.receiver || (m.source.is_listed && m.target.is_listed), "exchange: rank ",
              m.pair.sender, " lists a message to itself with one end; list both, send and recv");
    }
    return detail::access::make_request<request>(launcher_.launch(messages_));
  }

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::transfer, element_name<T>(), "", "");

  [[nodiscard]] call const* typed_record(any_element const& type) {
    constexpr call open_record = make_call(operation_kind::transfer, "", "", "");
    return &typed_records_.emplace_front(detail::typed_call(open_record, type));
  }

  /// Lists a message, or the missing end of one to this rank itself.
  void add(detail::listed_message const& message) {
    op::transfer const pair = message.pair;
    expects(pair.sender < world().size() && pair.receiver < world().size(),
            "exchange: the other rank must be a rank of this communicator, below ", world().size(), ", not ",
            pair.sender == world().rank() ? pair.receiver : pair.sender);
    for (detail::listed_message& m : messages_) {
      if (pair.sender == pair.receiver && m.pair == pair &&
          !(message.source.is_listed ? m.source.is_listed : m.target.is_listed)) {
        expects(m.record->identity == message.record->identity && m.count == message.count &&
                    (m.length_record == nullptr) == (message.length_record == nullptr),
                "exchange: send and recv of a message to oneself must agree in type and number of elements, and here "
                "they have ",
                m.count, " and ", message.count);
        (message.source.is_listed ? m.source : m.target) = message.source.is_listed ? message.source : message.target;
        return;
      }
    }
    messages_.push_back(message);
  }

  detail::joint_launcher<Communicator, detail::exchange_operation<Communicator, detail::edge>> launcher_;
  std::vector<detail::listed_message> messages_;
  std::forward_list<call> typed_records_;  ///< call records of messages of types known at run time
};

template <class C, class... Rest>
exchange(C&&, Rest...) -> exchange<detail::connection_t<C, Rest...>>;

}  // namespace tutti
