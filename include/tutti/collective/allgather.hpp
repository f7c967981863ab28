// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/device_span.hpp>

namespace tutti::inline v0_1_0 {

/// Every rank ends with the blocks of all ranks, in rank order. If the count is no multiple of n, block lengths differ
/// by at most one element: see block_begin and block_size.
///
///     tutti::allgather collect{world, tutti::ring{}};
///     collect(mine, all);
///     collect(all);        // in place: this rank's block is already at its place
///
/// Shape: rank r of n gives block_size(count, n, r) elements; every rank ends with all `count` elements, those of rank
/// r from block_begin(count, n, r) on.
///
/// @pre count and type are the same on all ranks; `mine` and `all` do not overlap
/// @throws precondition_error if `mine` differs in size from this rank's block of `all`, or overlaps it
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::allgather, where S is the bytes of all `count` elements.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::allgather, Communicator, Topology>
class allgather : public operator_base<op::allgather, Communicator, Topology>,
                  public asynchronous<allgather<Communicator, Topology>>,
                  private detail::allgather_calls {
  using base = operator_base<op::allgather, Communicator, Topology>;
  using calls = detail::allgather_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  allgather(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer auto&& all) {
    auto const v = elements(all);
    this->run({}, {sizeof(v[0])}, what<buffer_value_t<decltype(all)>>, in_place(v), v.size());
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer All>
  void operator()(buffer_of<buffer_value_t<All>> auto const& mine, All&& all) {
    auto const v = elements(all);
    this->run({}, {sizeof(v[0])}, what<buffer_value_t<All>>,
              apart<buffer_value_t<All>>(detail::elements_of<buffer_value_t<All>>(mine), v), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer auto&& all) {
    auto const v = elements(all);
    return this->launch({}, {sizeof(v[0])}, what<buffer_value_t<decltype(all)>>, in_place(v), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_mutable_buffer All>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<All>> auto&& mine, All&& all) {
    auto const v = elements(all);
    return this->launch({}, {sizeof(v[0])}, what<buffer_value_t<All>>,
                        apart<buffer_value_t<All>>(detail::elements_of<buffer_value_t<All>>(mine), v), v.size());
  }

  /// Enqueues the operation in a stream of a device, after all earlier work there. The device owns the memory until
  /// it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and <tutti/cuda/staged.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <device_memory All, class Stream>
    requires detail::enqueues<Communicator, Topology, op::allgather, Stream> && element<device_element_t<All>>
  void enqueue(All const& all, Stream const& in) {
    auto const v = device_span(all).elements();
    this->launch_in_stream({}, {sizeof(v[0])}, what<device_element_t<All>>, in_place(v), v.size(), in);
  }
  /// Enqueues the operation in a stream of a device, after all earlier work there. The device owns the memory until
  /// it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and <tutti/cuda/staged.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <device_memory All, class Stream>
    requires detail::enqueues<Communicator, Topology, op::allgather, Stream> && element<device_element_t<All>>
  void enqueue(device_span<device_element_t<All> const> mine, All const& all, Stream const& in) {
    auto const v = device_span(all).elements();
    this->launch_in_stream({}, {sizeof(v[0])}, what<device_element_t<All>>,
                           apart<device_element_t<All>>(mine.elements(), v), v.size(), in);
  }

  using calls::operator();
  using calls::start;
  void enqueue(...) = delete;  // takes device memory of one type and a stream, over cuda::peers

 private:
  template <class T>
  static constexpr call what = make_call(operation_kind::allgather, element_name<T>(), "", Topology::name);

  template <class T>
  static detail::memories in_place(std::span<T> v) noexcept {
    std::byte* const data = detail::bytes_of(v);
    return {.input = data, .work = data, .output = data};
  }
  template <class T>
  detail::memories apart(std::span<T const> mine, std::span<T> all) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    detail::expect_block("allgather: the input", "the output has as many elements as all inputs together", mine.size(),
                         all.size(), n, me);
    expects(detail::disjoint(mine, all),
            "allgather: input and output overlap; call it in place with one vector instead");
    std::byte* const data = detail::bytes_of(all);
    return {
        .input = detail::bytes_of(mine), .work = data, .output = data, .input_origin = block_begin(all.size(), n, me)};
  }
};

template <class C, class... Rest>
allgather(C&&, Rest...) -> allgather<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
