// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/partition.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Block j of rank i's input becomes block i of rank j's output.
///
///     tutti::alltoall swap{world, tutti::direct{}};
///     swap(input, output);
///     swap(input, output, outgoing, incoming);               // outgoing.length(j) elements go to rank j
///     auto const result = swap.exchange_uneven(input, outgoing);  // where other ranks know the incoming lengths
///     swap(from, to, count, tutti::any_element("int32"));    // pointers; both vectors have `count` elements
///
/// Shape: every rank gives and receives `count` elements: n blocks of count / n, in rank order. With partitions, the
/// block for rank j has outgoing.length(j) elements, from outgoing.begin(j) on, and the block from rank i has
/// incoming.length(i), from incoming.begin(i) on. So incoming.length(i) on rank j is outgoing.length(j) on rank i.
///
/// @pre the count is the same on all ranks, and all give partitions or none; input and output do not overlap
/// @throws precondition_error if the count is no multiple of n, or input and output differ in size or overlap; with
/// partitions, if one is of another number of ranks or elements, if the two differ in this rank's own block, or if the
/// topology forwards blocks
/// @throws error like all operations; failure::mismatch, with both lengths, if two ranks disagree about a block
///
/// Cost: the topology's schedule for op::alltoall, where S is the bytes of all `count` elements. With partitions it is
/// not cut into segments, and over all transports but tcp a message of 8 bytes, which has the length, precedes each.
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

  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  template <buffer Input>
  void operator()(Input const& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output,
                  partition const& outgoing, partition const& incoming) {
    exchange<buffer_value_t<Input>>(elements(input), detail::elements_of<buffer_value_t<Input>>(output),
                                    {outgoing, incoming});
  }
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partitions are copied.
  template <lasting_buffer Input>
  [[nodiscard]] request start(Input&& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output,
                              partition const& outgoing, partition const& incoming) {
    using value = buffer_value_t<Input>;
    detail::pair_lengths const lengths{outgoing, incoming};
    return this->launch({}, {sizeof(value)}, call_record<value>,
                        memory<value>(elements(input), detail::elements_of<value>(output), lengths), 0, &lengths);
  }

  /// Exchanges blocks of any lengths. Each rank need know the lengths that it sends only. All ranks call this form.
  ///
  ///     auto const result = swap.exchange_uneven(input, outgoing);
  ///     result.elements[result.blocks.begin(2)];  // the first element from rank 2, if it has sent one
  ///
  /// Cost: two operations: an alltoall of one std::size_t for each pair of ranks, then that of the elements, to new
  /// memory.
  template <buffer Input>
    requires std::default_initializable<buffer_value_t<Input>> && mutable_buffer<std::vector<buffer_value_t<Input>>>
  [[nodiscard]] gathered_blocks<buffer_value_t<Input>> exchange_uneven(Input const& input, partition const& outgoing) {
    using value = buffer_value_t<Input>;
    rank_type const n = this->world().size();
    detail::expect_partition("alltoall", outgoing, n);
    detail::expect_size(input_text, elements(input).size(), outgoing.count());
    std::vector<std::size_t> outgoing_lengths(n);
    std::vector<std::size_t> lengths(n);
    for (rank_type r = 0; r < n; ++r) {
      outgoing_lengths[r] = outgoing.length(r);
    }
    (*this)(outgoing_lengths, lengths);
    auto result = this->template make_room<value>(lengths, [](partition const& blocks) { return blocks.count(); });
    exchange<value>(elements(input), std::span(result.elements), {outgoing, result.blocks, true});
    return result;
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, std::size_t count, any_element const& type) {
    this->run({}, {type.size()}, detail::typed_call(open_record, type), memory(input, output, count, type.size()),
              count);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, std::size_t count, any_element const& type) {
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, count, type.size()), count);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, partition const& outgoing, partition const& incoming,
                  any_element const& type) {
    detail::pair_lengths const lengths{outgoing, incoming};
    this->run({}, {type.size()}, detail::typed_call(open_record, type), memory(input, output, lengths, type.size()), 0,
              &lengths);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, partition const& outgoing, partition const& incoming,
                              any_element const& type) {
    detail::pair_lengths const lengths{outgoing, incoming};
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, lengths, type.size()), 0, &lengths);
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::alltoall, element_name<T>(), "", Topology::name);
  static constexpr call open_record = make_call(operation_kind::alltoall, "", "", Topology::name);

  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output) const {
    detail::expect_size("alltoall: the output, like the input,", output.size(), input.size());
    expect_equal_blocks(input.size());
    return apart(input, output);
  }
  detail::memories memory(void const* input, void* output, std::size_t count, std::size_t size) const {
    expect_equal_blocks(count);
    return apart(detail::bytes_at("alltoall", "the input", input, count, size),
                 detail::bytes_at("alltoall", "the output", output, count, size));
  }
  void expect_equal_blocks(std::size_t count) const {
    expects(count % this->world().size() == 0, "alltoall: the elements must be a multiple of the ",
            this->world().size(), " ranks, not ", count);
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, detail::pair_lengths const& lengths) const {
    expect_lengths(lengths);
    detail::expect_size(input_text, input.size(), lengths.outgoing.count());
    detail::expect_size("alltoall: the output, all blocks of the second partition,", output.size(),
                        lengths.incoming.count());
    return apart(input, output);
  }
  detail::memories memory(void const* input, void* output, detail::pair_lengths const& lengths,
                          std::size_t size) const {
    expect_lengths(lengths);
    return apart(detail::bytes_at("alltoall", "the input", input, lengths.outgoing.count(), size),
                 detail::bytes_at("alltoall", "the output", output, lengths.incoming.count(), size));
  }
  void expect_lengths(detail::pair_lengths const& lengths) const {
    rank_type const me = this->world().rank();
    detail::expect_partition("alltoall", lengths.outgoing, this->world().size());
    detail::expect_partition("alltoall", lengths.incoming, this->world().size());
    expects(lengths.outgoing.length(me) == lengths.incoming.length(me), "alltoall: rank ", me,
            " sends itself a block of ", lengths.outgoing.length(me), " elements, but expects ",
            lengths.incoming.length(me), "; give both partitions the same length for it");
  }
  template <class T>
  detail::memories apart(std::span<T const> input, std::span<T> output) const {
    expects(detail::disjoint(input, output), "alltoall: input and output overlap; use separate memory");
    return {.input = detail::bytes_of(input), .output = detail::bytes_of(output)};
  }

  template <class T>
  void exchange(std::span<T const> input, std::span<T> output, detail::pair_lengths const& lengths) {
    this->run({}, {sizeof(T)}, call_record<T>, memory<T>(input, output, lengths), 0, &lengths);
  }

  static constexpr char const* input_text = "alltoall: the input, all blocks of the first partition,";
};

template <class C, class... Rest>
alltoall(C&&, Rest...) -> alltoall<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
