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
#include <tutti/extend/partition.hpp>

#include <concepts>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Every rank ends with the blocks of all ranks, in rank order. If the count is no multiple of n, block lengths differ
/// by at most one element: see block_begin and block_size. A partition gives them any lengths.
///
///     tutti::allgather collect{world, tutti::ring{}};
///     collect(input, output);
///     collect(output);        // in place: this rank's block is already at its place
///     collect(input, output, tutti::partition{5, 0, 12});  // ranks 0, 1 and 2 give 5, 0 and 12 elements
///     collect(from, to, count, tutti::any_element("int32"));  // pointers; the output has `count` elements
///
/// Shape: rank r of n gives block_size(count, n, r) elements; every rank ends with all `count` elements, those of rank
/// r from block_begin(count, n, r) on. With a partition p: p.length(r), p.count() and p.begin(r).
///
/// @pre count, type and partition are the same on all ranks; `input` and `output` do not overlap
/// @throws precondition_error if `input` differs in size from this rank's block of `output`, or overlaps it, or if the
/// partition is of another number of ranks or elements
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
  void operator()(lasting_mutable_buffer auto&& output) {
    auto const v = elements(output);
    this->run({}, {sizeof(v[0])}, call_record<buffer_value_t<decltype(output)>>, in_place(v), v.size());
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer Output>
  void operator()(buffer_of<buffer_value_t<Output>> auto const& input, Output&& output) {
    auto const v = elements(output);
    this->run({}, {sizeof(v[0])}, call_record<buffer_value_t<Output>>,
              apart<buffer_value_t<Output>>(detail::elements_of<buffer_value_t<Output>>(input), v), v.size());
  }
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer auto&& output, partition const& blocks) {
    auto const v = elements(output);
    this->run({}, {sizeof(v[0])}, call_record<buffer_value_t<decltype(output)>>, in_place(v, blocks), v.size(),
              &blocks);
  }
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer Output>
  void operator()(buffer_of<buffer_value_t<Output>> auto const& input, Output&& output, partition const& blocks) {
    auto const v = elements(output);
    this->run({}, {sizeof(v[0])}, call_record<buffer_value_t<Output>>,
              apart<buffer_value_t<Output>>(detail::elements_of<buffer_value_t<Output>>(input), v, blocks), v.size(),
              &blocks);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer auto&& output) {
    auto const v = elements(output);
    return this->launch({}, {sizeof(v[0])}, call_record<buffer_value_t<decltype(output)>>, in_place(v), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_mutable_buffer Output>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<Output>> auto&& input, Output&& output) {
    auto const v = elements(output);
    return this->launch({}, {sizeof(v[0])}, call_record<buffer_value_t<Output>>,
                        apart<buffer_value_t<Output>>(detail::elements_of<buffer_value_t<Output>>(input), v), v.size());
  }

  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  [[nodiscard]] request start(lasting_mutable_buffer auto&& output, partition const& blocks) {
    auto const v = elements(output);
    return this->launch({}, {sizeof(v[0])}, call_record<buffer_value_t<decltype(output)>>, in_place(v, blocks),
                        v.size(), &blocks);
  }
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  template <lasting_mutable_buffer Output>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<Output>> auto&& input, Output&& output,
                              partition const& blocks) {
    auto const v = elements(output);
    return this->launch({}, {sizeof(v[0])}, call_record<buffer_value_t<Output>>,
                        apart<buffer_value_t<Output>>(detail::elements_of<buffer_value_t<Output>>(input), v, blocks),
                        v.size(), &blocks);
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void* data, std::size_t count, any_element const& type) {
    this->run({}, {type.size()}, detail::typed_call(open_record, type),
              in_place(detail::bytes_at("allgather", "the vector", data, count, type.size())), count);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void* data, std::size_t count, any_element const& type) {
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type),
                        in_place(detail::bytes_at("allgather", "the vector", data, count, type.size())), count);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, std::size_t count, any_element const& type) {
    this->run({}, {type.size()}, detail::typed_call(open_record, type),
              apart(input, output, count, type.size(), own_begin(count), own_size(count)), count);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, std::size_t count, any_element const& type) {
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type),
                        apart(input, output, count, type.size(), own_begin(count), own_size(count)), count);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void* data, partition const& blocks, any_element const& type) {
    this->run({}, {type.size()}, detail::typed_call(open_record, type), in_place(data, blocks, type.size()),
              blocks.count(), &blocks);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void* data, partition const& blocks, any_element const& type) {
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type), in_place(data, blocks, type.size()),
                        blocks.count(), &blocks);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, partition const& blocks, any_element const& type) {
    this->run({}, {type.size()}, detail::typed_call(open_record, type), apart(input, output, blocks, type.size()),
              blocks.count(), &blocks);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, partition const& blocks, any_element const& type) {
    return this->launch({}, {type.size()}, detail::typed_call(open_record, type),
                        apart(input, output, blocks, type.size()), blocks.count(), &blocks);
  }

  /// Gathers blocks of any lengths. Each rank need know the length of its own block only. All ranks call this form.
  ///
  ///     auto const all = collect.gather_uneven(my_rows);
  ///     all.elements[all.blocks.begin(2)];  // the first element of rank 2, if it has given one
  ///
  /// Cost: two operations: an allgather of one std::size_t of each rank, then that of the elements, in new memory.
  template <buffer Input>
    requires std::default_initializable<buffer_value_t<Input>> && mutable_buffer<std::vector<buffer_value_t<Input>>>
  [[nodiscard]] gathered_blocks<buffer_value_t<Input>> gather_uneven(Input const& input) {
    auto const source = elements(input);
    std::vector<std::size_t> lengths(this->world().size());
    lengths[this->world().rank()] = source.size();
    (*this)(lengths);
    auto result = this->template make_room<buffer_value_t<Input>>(
        lengths, [](partition const& blocks) { return blocks.count(); });
    (*this)(source, result.elements, result.blocks);
    return result;
  }

  /// Enqueues the operation in a stream of a device, after all earlier work there. Blocks are equal. The device owns
  /// the memory until it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <device_memory Output, class Stream>
    requires detail::enqueues<Communicator, Topology, op::allgather, Stream> && element<device_element_t<Output>>
  void enqueue(Output const& output, Stream const& stream) {
    auto const v = device_span(output).elements();
    this->launch_in_stream({}, {sizeof(v[0])}, call_record<device_element_t<Output>>, in_place(v), v.size(), stream);
  }
  /// Enqueues the operation in a stream of a device, after all earlier work there. Blocks are equal. The device owns
  /// the memory until it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <device_memory Output, class Stream>
    requires detail::enqueues<Communicator, Topology, op::allgather, Stream> && element<device_element_t<Output>>
  void enqueue(device_span<device_element_t<Output> const> input, Output const& output, Stream const& stream) {
    auto const v = device_span(output).elements();
    this->launch_in_stream({}, {sizeof(v[0])}, call_record<device_element_t<Output>>,
                           apart<device_element_t<Output>>(input.elements(), v), v.size(), stream);
  }

  using calls::operator();
  using calls::start;
  void enqueue(...) = delete;  // takes device memory of one type and a stream, over cuda::peers; no partition

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::allgather, element_name<T>(), "", Topology::name);
  static constexpr call open_record = make_call(operation_kind::allgather, "", "", Topology::name);

  [[nodiscard]] std::size_t own_begin(std::size_t count) const noexcept {
    return block_begin(count, this->world().size(), this->world().rank());
  }
  [[nodiscard]] std::size_t own_size(std::size_t count) const noexcept {
    return block_size(count, this->world().size(), this->world().rank());
  }

  template <class T>
  static detail::memories in_place(std::span<T> v) noexcept {
    std::byte* const data = detail::bytes_of(v);
    return {.input = data, .work = data, .output = data};
  }
  template <class T>
  detail::memories apart(std::span<T const> input, std::span<T> output) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    detail::expect_block("allgather: the input", "the output has as many elements as all inputs together", input.size(),
                         output.size(), n, me);
    return apart(input, output, block_begin(output.size(), n, me));
  }
  template <class T>
  static detail::memories apart(std::span<T const> input, std::span<T> output, std::size_t begin) {
    expects(detail::disjoint(input, output),
            "allgather: input and output overlap; call it in place with one vector instead");
    std::byte* const data = detail::bytes_of(output);
    return {.input = detail::bytes_of(input), .work = data, .output = data, .input_origin = begin};
  }

  template <class T>
  detail::memories in_place(std::span<T> output, partition const& blocks) const {
    detail::expect_partition("allgather", blocks, this->world().size());
    detail::expect_size("allgather: the output, for all blocks of the partition,", output.size(), blocks.count());
    return in_place(output);
  }
  template <class T>
  detail::memories apart(std::span<T const> input, std::span<T> output, partition const& blocks) const {
    static_cast<void>(in_place(output, blocks));
    rank_type const me = this->world().rank();
    detail::expect_size("allgather: the input, this rank's block of the partition,", input.size(), blocks.length(me));
    return apart(input, output, blocks.begin(me));
  }

  static detail::memories apart(void const* input, void* output, std::size_t count, std::size_t size, std::size_t begin,
                                std::size_t length) {
    return apart(detail::bytes_at("allgather", "the input", input, length, size),
                 detail::bytes_at("allgather", "the output", output, count, size), begin);
  }
  detail::memories in_place(void* data, partition const& blocks, std::size_t size) const {
    detail::expect_partition("allgather", blocks, this->world().size());
    return in_place(detail::bytes_at("allgather", "the vector", data, blocks.count(), size));
  }
  detail::memories apart(void const* input, void* output, partition const& blocks, std::size_t size) const {
    detail::expect_partition("allgather", blocks, this->world().size());
    rank_type const me = this->world().rank();
    return apart(input, output, blocks.count(), size, blocks.begin(me), blocks.length(me));
  }
};

template <class C, class... Rest>
allgather(C&&, Rest...) -> allgather<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
