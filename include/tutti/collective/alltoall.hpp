// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>

namespace tutti::inline v0_1_0 {

/// Block j of rank i's input becomes block i of rank j's output.
///
///     tutti::alltoall swap{world, tutti::direct{}};
///     swap(outgoing, incoming);
///
/// Shape: every rank gives and receives `count` elements: n blocks of count / n, in rank order.
///
/// @pre the count is the same on all ranks; input and output do not overlap
/// @throws precondition_error if the count is no multiple of n, or input and output differ in size or overlap
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::alltoall, where S is the bytes of all `count` elements.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::alltoall, Communicator, Topology>
class alltoall : public operator_base<op::alltoall, Communicator, Topology>,
                 public asynchronous<alltoall<Communicator, Topology>>,
                 private detail::alltoall_calls {
  using base = operator_base<op::alltoall, Communicator, Topology>;
  using calls = detail::alltoall_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  alltoall(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <buffer Input>
  void operator()(Input const& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output) {
    using value = buffer_value_t<Input>;
    auto const source = elements(input);
    this->run({}, {sizeof(value)}, call_record<value>, memory<value>(source, detail::elements_of<value>(output)),
              source.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_buffer Input>
  [[nodiscard]] request start(Input&& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output) {
    using value = buffer_value_t<Input>;
    auto const source = elements(input);
    return this->launch({}, {sizeof(value)}, call_record<value>,
                        memory<value>(source, detail::elements_of<value>(output)), source.size());
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::alltoall, element_name<T>(), "", Topology::name);

  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output) const {
    detail::expect_size("alltoall: the output, like the input,", output.size(), input.size());
    expects(input.size() % this->world().size() == 0, "alltoall: the elements must be a multiple of the ",
            this->world().size(), " ranks, not ", input.size());
    expects(detail::disjoint(input, output), "alltoall: input and output overlap; use separate memory");
    return {.input = detail::bytes_of(input), .output = detail::bytes_of(output)};
  }
};

template <class C, class... Rest>
alltoall(C&&, Rest...) -> alltoall<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
