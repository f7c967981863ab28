// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/device_span.hpp>
#include <tutti/extend/partition.hpp>

namespace tutti::inline v0_1_0 {

/// Rank r ends with block r of the combination of all ranks' vectors. If the count is no multiple of n, block lengths
/// differ by at most one element: see block_begin and block_size. A partition gives them any lengths.
///
///     tutti::reduce_scatter share{world, tutti::ring{}, tutti::sum<float>{}};
///     share(vector, my_block);
///     auto mine = share(vector);  // in place: a view of this rank's block; the other blocks are overwritten
///     share(vector, my_block, tutti::partition{5, 0, 12});  // ranks 0, 1 and 2 get 5, 0 and 12 elements
///
/// Shape: every rank gives `count` elements; rank r of n ends with block_size(count, n, r) elements, from
/// block_begin(count, n, r) on. With a partition p: p.count(), p.length(r) and p.begin(r).
///
/// @pre count and partition are the same on all ranks; input and output do not overlap
/// @throws precondition_error if the output differs in size from this rank's block, or overlaps the input, or if the
/// partition is of another number of ranks or elements
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::reduce_scatter, where S is the bytes of all `count` accumulators; scratch
/// memory of S unless in place.
/// Thread safety: as the communicator.
template <class Communicator, class Topology, class Reduction>
  requires runs<op::reduce_scatter, Communicator, Topology, Reduction>
class reduce_scatter : public operator_base<op::reduce_scatter, Communicator, Topology, Reduction>,
                       public asynchronous<reduce_scatter<Communicator, Topology, Reduction>>,
                       private detail::reduce_scatter_calls<Reduction> {
  using base = operator_base<op::reduce_scatter, Communicator, Topology, Reduction>;
  using calls = detail::reduce_scatter_calls<Reduction>;

 public:
  /// The element type of each rank's contribution.
  using contribution_type = contribution_t<Reduction>;
  /// The element type of the result.
  using value_type = typename Reduction::value_type;

  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  reduce_scatter(Communicator& world, Topology topology, Reduction reduction)
      : base(world, topology, {reduction}), payload_{reduction} {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  std::span<value_type> operator()(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    this->run({}, payload_, call_record, in_place(v), v.size());
    return v.subspan(begin(v.size()), size(v.size()));
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(buffer_of<contribution_type> auto const& input, lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    this->run({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output)), source.size());
  }
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  std::span<value_type> operator()(lasting_mutable_buffer_of<value_type> auto&& data, partition const& blocks)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    this->run({}, payload_, call_record, in_place(v, blocks), v.size(), &blocks);
    return v.subspan(blocks.begin(this->world().rank()), blocks.length(this->world().rank()));
  }
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  void operator()(buffer_of<contribution_type> auto const& input, lasting_mutable_buffer_of<value_type> auto&& output,
                  partition const& blocks) {
    auto const source = detail::elements_of<contribution_type>(input);
    this->run({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output), blocks), source.size(),
              &blocks);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    return this->launch({}, payload_, call_record, in_place(v), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_buffer_of<contribution_type> auto&& input,
                              lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    return this->launch({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output)),
                        source.size());
  }
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  [[nodiscard]] request start(lasting_mutable_buffer_of<value_type> auto&& data, partition const& blocks)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    return this->launch({}, payload_, call_record, in_place(v, blocks), v.size(), &blocks);
  }
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  [[nodiscard]] request start(lasting_buffer_of<contribution_type> auto&& input,
                              lasting_mutable_buffer_of<value_type> auto&& output, partition const& blocks) {
    auto const source = detail::elements_of<contribution_type>(input);
    return this->launch({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output), blocks),
                        source.size(), &blocks);
  }

  /// Enqueues the operation in a stream of a device, after all earlier work there. Blocks are equal. The device owns
  /// the memory until it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <class Stream>
    requires detail::enqueues<Communicator, Topology, op::reduce_scatter, Stream> && contributes_elements<Reduction>
  void enqueue(device_span<value_type> data, Stream const& stream) {
    this->launch_in_stream({}, payload_, call_record, in_place(data.elements()), data.size(), stream);
  }
  /// Enqueues the operation in a stream of a device, after all earlier work there. Blocks are equal. The device owns
  /// the memory until it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <class Stream>
    requires detail::enqueues<Communicator, Topology, op::reduce_scatter, Stream>
  void enqueue(device_span<contribution_type const> input, device_span<value_type> output, Stream const& stream) {
    this->launch_in_stream({}, payload_, call_record, apart(input.elements(), output.elements()), input.size(), stream);
  }

  using calls::operator();
  using calls::start;
  void enqueue(...) =
      delete;  // takes device memory of the reduction's type and a stream, over cuda::peers; no partition

 private:
  static constexpr call call_record =
      make_call(operation_kind::reduce_scatter, element_name<contribution_type>(), Reduction::name, Topology::name);

  [[nodiscard]] std::size_t begin(std::size_t count) const noexcept {
    return block_begin(count, this->world().size(), this->world().rank());
  }
  [[nodiscard]] std::size_t size(std::size_t count) const noexcept {
    return block_size(count, this->world().size(), this->world().rank());
  }

  static detail::memories in_place(std::span<value_type> v) noexcept {
    std::byte* const data = detail::bytes_of(v);
    return {.input = data, .work = detail::combining<Reduction>::work_fits_output ? data : nullptr, .output = data};
  }
  detail::memories apart(std::span<contribution_type const> input, std::span<value_type> output) const {
    detail::expect_block("reduce_scatter: the output", "the input has the blocks of all ranks", output.size(),
                         input.size(), this->world().size(), this->world().rank());
    return apart(input, output, begin(input.size()));
  }
  static detail::memories apart(std::span<contribution_type const> input, std::span<value_type> output,
                                std::size_t begin) {
    expects(detail::disjoint(input, output),
            "reduce_scatter: input and output overlap; call it in place with one vector instead");
    return {.input = detail::bytes_of(input), .output = detail::bytes_of(output), .output_origin = begin};
  }

  detail::memories in_place(std::span<value_type> v, partition const& blocks) const {
    expect_input(v.size(), blocks);
    return in_place(v);
  }
  detail::memories apart(std::span<contribution_type const> input, std::span<value_type> output,
                         partition const& blocks) const {
    expect_input(input.size(), blocks);
    rank_type const me = this->world().rank();
    detail::expect_size("reduce_scatter: the output, this rank's block of the partition,", output.size(),
                        blocks.length(me));
    return apart(input, output, blocks.begin(me));
  }
  void expect_input(std::size_t count, partition const& blocks) const {
    detail::expect_partition("reduce_scatter", blocks, this->world().size());
    detail::expect_size("reduce_scatter: the input, of all blocks of the partition,", count, blocks.count());
  }

  detail::combining<Reduction> payload_;
};

template <class C, class... Rest>
reduce_scatter(C&&, Rest...) -> reduce_scatter<detail::given_communicator<C>, detail::given_topology<2, Rest...>,
                                               detail::given_reduction<Rest...>>;

}  // namespace tutti
