// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/device_span.hpp>

namespace tutti::inline v0_1_0 {

/// Every rank ends with the root's vector.
///
///     tutti::broadcast share{world, tutti::binary_tree{}};
///     share(weights, 0);
///     share(pointer, count, tutti::any_element("float32"), 0);  // a type that is known at run time
///
/// Shape: the root gives `count` elements, which overwrite the `count` elements of every other rank.
///
/// @pre count, type and root are the same on all ranks
/// @throws precondition_error if the root is no rank
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::broadcast, where S is the bytes of all `count` elements.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::broadcast, Communicator, Topology>
class broadcast : public operator_base<op::broadcast, Communicator, Topology>,
                  public asynchronous<broadcast<Communicator, Topology>>,
                  private detail::broadcast_calls {
  using base = operator_base<op::broadcast, Communicator, Topology>;
  using calls = detail::broadcast_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  broadcast(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer auto&& data, rank_type root) {
    auto const v = elements(data);
    this->run(operation_from(root), {sizeof(v[0])}, call_record<buffer_value_t<decltype(data)>>, memory(v), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer auto&& data, rank_type root) {
    auto const v = elements(data);
    return this->launch(operation_from(root), {sizeof(v[0])}, call_record<buffer_value_t<decltype(data)>>, memory(v),
                        v.size());
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void* data, std::size_t count, any_element const& type, rank_type root) {
    this->run(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
              memory(detail::bytes_at("broadcast", "the vector", data, count, type.size())), count);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void* data, std::size_t count, any_element const& type, rank_type root) {
    return this->launch(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
                        memory(detail::bytes_at("broadcast", "the vector", data, count, type.size())), count);
  }

  /// Enqueues the operation in a stream of a device, after all earlier work there. The device owns the memory until
  /// it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <device_memory Data, class Stream>
    requires detail::enqueues<Communicator, Topology, op::broadcast, Stream> && element<device_element_t<Data>>
  void enqueue(Data const& data, rank_type root, Stream const& stream) {
    auto const v = device_span(data).elements();
    this->launch_in_stream(operation_from(root), {sizeof(v[0])}, call_record<device_element_t<Data>>, memory(v),
                           v.size(), stream);
  }

  using calls::operator();
  using calls::start;
  void enqueue(...) = delete;  // takes device memory, a root and a stream, over cuda::peers

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::broadcast, element_name<T>(), "", Topology::name);
  static constexpr call open_record = make_call(operation_kind::broadcast, "", "", Topology::name);

  [[nodiscard]] op::broadcast operation_from(rank_type root) const {
    detail::expect_root("broadcast", root, this->world().size());
    return {root};
  }
  template <class T>
  static detail::memories memory(std::span<T> v) noexcept {
    std::byte* const data = detail::bytes_of(v);
    return {.input = data, .work = data, .output = data};
  }
};

template <class C, class... Rest>
broadcast(C&&, Rest...) -> broadcast<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
