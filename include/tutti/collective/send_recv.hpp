// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/detail/topology/edge.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/any_length.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0 {
namespace detail {

/// The parts of a message: the schedule of one edge, and elements that are only moved.
template <>
struct parts_of<op::transfer> {
  using topology = edge;
  using payload = moving;
};

}  // namespace detail

/// Sends a message to one rank, which receives it with `recv`. Messages from one rank to another arrive in the order
/// of sending; those of different pairs are independent.
///
///     tutti::send give{world};
///     give(data, 1);
///     give(pointer, count, tutti::any_element("int32"), 1);
///
/// It may return before the message is received, or wait until it is: do not rely on either. Ranks that send to each
/// other start all messages, then wait, or use an `exchange`.
///
/// Shape: `count` elements, as many as the receiver's buffer has.
///
/// @pre the receiver's buffer has as many elements of the same type
/// @throws precondition_error if the receiver is no rank, or this one
/// @throws error like all operations
///
/// Cost: one message, L + S G.
/// Thread safety: as the communicator.
template <group Communicator>
class send : public operator_base<op::transfer, Communicator>,
             public asynchronous<send<Communicator>>,
             private detail::send_calls {
  using base = operator_base<op::transfer, Communicator>;
  using calls = detail::send_calls;

 public:
  /// Constructs the operator; it runs any number of times.
  explicit send(Communicator& world) : base(world, {}, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <buffer Data>
  void operator()(Data const& data, rank_type receiver) {
    std::span<buffer_value_t<Data> const> const v = elements(data);
    this->run(pair(receiver), {sizeof(v[0])}, call_record<buffer_value_t<Data>>, {.input = detail::bytes_of(v)},
              v.size());
  }
  /// Sends the elements of a container, preceded by their number. `exchange` starts such a message.
  template <class Container>
  void operator()(any_length<Container> data, rank_type receiver) {
    using value_type = buffer_value_t<Container&>;
    auto const v = elements(data.container);
    send_length(detail::length_record<value_type>, v.size(), receiver);
    (*this)(v, receiver);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_buffer Data>
  [[nodiscard]] request start(Data&& data, rank_type receiver) {
    std::span<buffer_value_t<Data> const> const v = elements(data);
    return this->launch(pair(receiver), {sizeof(v[0])}, call_record<buffer_value_t<Data>>,
                        {.input = detail::bytes_of(v)}, v.size());
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* data, std::size_t count, any_element const& type, rank_type receiver) {
    this->run(pair(receiver), {type.size()}, detail::typed_call(open_record, type),
              {.input = detail::bytes_at("send", "the message", data, count, type.size()).data()}, count);
  }
  /// Sends elements of a type that is known at run time, preceded by their number.
  void operator()(any_length<any_elements> data, rank_type receiver) {
    any_elements const& v = data.container;
    static_cast<void>(detail::bytes_at("send", "the message", v.data(), v.size(), v.type().size()));
    send_length(detail::length_record_of(v), v.size(), receiver);
    (*this)(v.data(), v.size(), v.type(), receiver);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* data, std::size_t count, any_element const& type, rank_type receiver) {
    return this->launch(pair(receiver), {type.size()}, detail::typed_call(open_record, type),
                        {.input = detail::bytes_at("send", "the message", data, count, type.size()).data()}, count);
  }

  using calls::operator();
  using calls::start;

 private:
  [[nodiscard]] op::transfer pair(rank_type receiver) const {
    detail::expect_peer("send: the receiver", receiver, this->world().rank(), this->world().size());
    return {this->world().rank(), receiver};
  }
  [[gnu::always_inline]] void send_length(call const& record, std::uint64_t length, rank_type receiver) {
    this->run(pair(receiver), {sizeof length}, record, {.input = detail::bytes_of(std::span(&length, 1))}, 1);
  }
  template <class T>
  static constexpr call call_record = make_call(operation_kind::transfer, element_name<T>(), "", "");
  static constexpr call open_record = make_call(operation_kind::transfer, "", "", "");
};

template <class C, class... Rest>
send(C&&, Rest...) -> send<detail::connection_t<C, Rest...>>;

/// Receives a message from one rank, which sends it with `send`.
///
///     tutti::recv take{world};
///     take(data, 0);
///     take(pointer, count, tutti::any_element("int32"), 0);
///     take(tutti::any_length(vector), 0);    // as many elements as are sent, by tutti::any_length there
///
/// Shape: `count` elements, all overwritten by the sender's.
///
/// @pre the sender sends as many elements of the same type
/// @throws precondition_error if the sender is no rank, or this one
/// @throws error like all operations
///
/// Cost: one message, L + S G.
/// Thread safety: as the communicator.
template <group Communicator>
class recv : public operator_base<op::transfer, Communicator>,
             public asynchronous<recv<Communicator>>,
             private detail::recv_calls {
  using base = operator_base<op::transfer, Communicator>;
  using calls = detail::recv_calls;

 public:
  /// Constructs the operator; it runs any number of times.
  explicit recv(Communicator& world) : base(world, {}, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer auto&& data, rank_type sender) {
    auto const v = elements(data);
    this->run(pair(sender), {sizeof(v[0])}, call_record<buffer_value_t<decltype(data)>>,
              {.output = detail::bytes_of(v)}, v.size());
  }
  /// Receives into a container, which is resized to the sender's length. `exchange` starts such a message.
  template <detail::resizable Container>
  void operator()(any_length<Container> data, rank_type sender) {
    using value_type = buffer_value_t<Container&>;
    receive_length(detail::length_record<value_type>, data.container, sender);
    (*this)(data.container, sender);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer auto&& data, rank_type sender) {
    auto const v = elements(data);
    return this->launch(pair(sender), {sizeof(v[0])}, call_record<buffer_value_t<decltype(data)>>,
                        {.output = detail::bytes_of(v)}, v.size());
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void* data, std::size_t count, any_element const& type, rank_type sender) {
    this->run(pair(sender), {type.size()}, detail::typed_call(open_record, type),
              {.output = detail::bytes_at("recv", "the message", data, count, type.size()).data()}, count);
  }
  /// Receives elements of a type that is known at run time, as many as are sent.
  /// @throws precondition_error if there are more than the memory holds; the epoch has failed then
  void operator()(any_length<any_elements> data, rank_type sender) {
    any_elements& v = data.container;
    static_cast<void>(detail::bytes_at("recv", "the message", v.data(), v.capacity(), v.type().size()));
    receive_length(detail::length_record_of(v), v, sender);
    (*this)(v.data(), v.size(), v.type(), sender);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void* data, std::size_t count, any_element const& type, rank_type sender) {
    return this->launch(pair(sender), {type.size()}, detail::typed_call(open_record, type),
                        {.output = detail::bytes_at("recv", "the message", data, count, type.size()).data()}, count);
  }

  using calls::operator();
  using calls::start;

 private:
  [[nodiscard]] op::transfer pair(rank_type sender) const {
    detail::expect_peer("recv: the sender", sender, this->world().rank(), this->world().size());
    return {sender, this->world().rank()};
  }
  template <class Container>
  [[gnu::always_inline]] void receive_length(call const& record, Container& container, rank_type sender) {
    std::uint64_t length = 0;
    this->run(pair(sender), {sizeof length}, record, {.output = detail::bytes_of(std::span(&length, 1))}, 1);
    detail::prepare_next(detail::access::state(this->world()),
                         [&] { container.resize(detail::integer_cast<std::size_t>(length)); });
  }
  template <class T>
  static constexpr call call_record = make_call(operation_kind::transfer, element_name<T>(), "", "");
  static constexpr call open_record = make_call(operation_kind::transfer, "", "", "");
};

template <class C, class... Rest>
recv(C&&, Rest...) -> recv<detail::connection_t<C, Rest...>>;

}  // namespace tutti
