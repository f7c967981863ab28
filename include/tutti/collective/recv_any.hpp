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
#include <tutti/extend/element.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/extend/types.hpp>

#include <cstddef>
#include <string_view>
#include <type_traits>

namespace tutti::inline v0_1_0 {

/// Receives the first message that arrives from any other rank, such as the next request at a server. The sender uses
/// `send` or an `exchange`.
///
///     tutti::recv_any take{world};
///     for (;;) {
///       tutti::rank_type const worker = take(result);    // or take(tutti::any_length(results))
///       give(next_task, worker);
///     }
///     take(pointer, count, tutti::any_element("int32"));
///
/// Messages of one rank arrive in the order of sending. Ranks take turns, so none is starved. A receive that names its
/// sender goes first: while one is under way, this operator takes no message of that rank.
///
/// A message of another type or length is a mismatch, like that of `recv`. It fails if a rank dies, or when the last
/// other rank has left; a rank that leaves before is no fault.
///
/// Cost: that of `recv`; while it waits, a question to the transport for every rank, which connects to all ranks, and
/// over TCP is a system call for each.
/// Thread safety: as the communicator.
template <group Communicator>
  requires notices_messages<typename Communicator::transport_type>
class recv_any : public asynchronous<recv_any<Communicator>> {
 public:
  /// Constructs the operator; it runs any number of times.
  explicit recv_any(Communicator& world) : launcher_(world) {}

  /// The communicator, by a handle of the operator's own.
  [[nodiscard]] Communicator& world() const noexcept { return launcher_.world(); }
  /// The limit for an operation. By default that of the communicator at construction.
  [[nodiscard]] duration deadline() const noexcept { return launcher_.deadline(); }
  /// Sets the limit for an operation.
  /// @throws precondition_error if it is negative
  void deadline(duration limit) { launcher_.deadline(limit); }
  /// The label of operations in errors, traces and the flight recorder; empty, the default: none.
  [[nodiscard]] std::string_view label() const noexcept { return launcher_.label(); }
  /// Labels later operations, as `operator_base::label` does.
  void label(std::string_view text) noexcept { launcher_.label(text); }

  /// Receives a message; returns its sender.
  /// @throws precondition_error if there is no other rank
  /// @throws error like all operations
  template <class Data>
    requires lasting_mutable_buffer<Data> || detail::is_resizable<std::remove_cvref_t<Data>>
  rank_type operator()(Data&& data) {
    rank_type sender = no_rank;
    start(data, sender).wait();
    return sender;
  }
  /// Receives a message of elements of a type that is known at run time; returns its sender.
  rank_type operator()(void* data, std::size_t count, any_element const& type) {
    rank_type sender = no_rank;
    start(data, count, type, sender).wait();
    return sender;
  }
  /// Starts to receive and returns the request; memory and `sender` must stay valid and untouched until it is complete.
  template <lasting_mutable_buffer Data>
  [[nodiscard]] request start(Data&& data, rank_type& sender) {
    auto const v = elements(data);
    using value_type = buffer_value_t<Data>;
    return launch({.record = &record<value_type>,
                   .element_bytes = sizeof(value_type),
                   .count = v.size(),
                   .target = {.object = v.data(), .is_listed = true}},
                  search_record<value_type>, sender);
  }
  /// Starts to receive a message to whose length the container is resized.
  template <detail::resizable Container>
  [[nodiscard]] request start(any_length<Container> data, rank_type& sender) {
    using value_type = buffer_value_t<Container&>;
    return launch({.record = &record<value_type>,
                   .length_record = &detail::length_record<value_type>,
                   .element_bytes = sizeof(value_type),
                   .target = detail::resized_end(data.container)},
                  search_record<value_type>, sender);
  }
  /// Starts to receive elements of a type that is known at run time, as many as are sent.
  [[nodiscard]] request start(any_length<any_elements> data, rank_type& sender) {
    any_elements& v = data.container;
    static_cast<void>(detail::bytes_at("recv_any", "the message", v.data(), v.capacity(), v.type().size()));
    call const typed_record = detail::typed_call(open_record, v.type());
    return launch({.record = &typed_record,
                   .length_record = &detail::length_record_of(v),
                   .element_bytes = v.type().size(),
                   .target = detail::resized_end(v)},
                  detail::typed_call(open_search_record, v.type()), sender);
  }
  /// Starts to receive elements of a type that is known at run time.
  [[nodiscard]] request start(void* data, std::size_t count, any_element const& type, rank_type& sender) {
    call const typed_record = detail::typed_call(open_record, type);
    return launch({.record = &typed_record,
                   .element_bytes = type.size(),
                   .count = count,
                   .target = {.object = detail::bytes_at("recv_any", "the message", data, count, type.size()).data(),
                              .is_listed = true}},
                  detail::typed_call(open_search_record, type), sender);
  }

 private:
  template <class T>
  static constexpr call record = make_call(operation_kind::transfer, element_name<T>(), "", "");
  template <class T>
  static constexpr call search_record = make_call(operation_kind::transfer, element_name<T>(), "", "any sender");
  static constexpr call open_record = make_call(operation_kind::transfer, "", "", "");
  static constexpr call open_search_record = make_call(operation_kind::transfer, "", "", "any sender");

  [[nodiscard]] request launch(detail::listed_message const& message, call const& search, rank_type& sender) {
    expects(world().size() != 1, "recv_any: there must be another rank to receive from, and this communicator has 1");
    return detail::access::make_request<request>(launcher_.launch(message, search, sender));
  }

  detail::joint_launcher<Communicator, detail::any_sender_operation<Communicator, detail::edge>> launcher_;
};

template <class C, class... Rest>
recv_any(C&&, Rest...) -> recv_any<detail::connection_t<C, Rest...>>;

}  // namespace tutti
