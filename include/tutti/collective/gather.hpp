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

/// The root ends with the blocks of all ranks, in rank order.
///
///     tutti::gather collect{world, tutti::binary_tree{}};
///     collect(input, output, 0);          // equal blocks; `output` is used at the root only
///     collect(input, output, 0, total);   // `total` elements in all: the first ranks give one more
///
/// Shape: rank r of n gives block_size(total, n, r) elements; the root ends with all `total` elements, those of rank r
/// from block_begin(total, n, r) on. By default, `total` is n times the number that each rank gives. `output` is
/// ignored on other ranks.
///
/// @pre root, total and type are the same on all ranks; at the root `input` is at its place in `output`, or does not
/// overlap it
/// @throws precondition_error if the root is no rank, a buffer has another size, or the two overlap otherwise
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::gather, where S is the bytes of all `total` elements; scratch memory of S on
/// ranks that forward blocks.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::gather, Communicator, Topology>
class gather : public operator_base<op::gather, Communicator, Topology>,
               public asynchronous<gather<Communicator, Topology>>,
               private detail::gather_calls {
  using base = operator_base<op::gather, Communicator, Topology>;
  using calls = detail::gather_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  gather(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer Output>
  void operator()(buffer_of<buffer_value_t<Output>> auto const& input, Output&& output, rank_type root) {
    (*this)(input, output, root, detail::elements_of<buffer_value_t<Output>>(input).size() * this->world().size());
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer Output>
  void operator()(buffer_of<buffer_value_t<Output>> auto const& input, Output&& output, rank_type root,
                  std::size_t total) {
    using value = buffer_value_t<Output>;
    this->run(operation_to(root), {sizeof(value)}, call_record<value>,
              memory<value>(detail::elements_of<value>(input), elements(output), root, total), total);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_mutable_buffer Output>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<Output>> auto&& input, Output&& output, rank_type root) {
    return start(input, output, root, detail::elements_of<buffer_value_t<Output>>(input).size() * this->world().size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_mutable_buffer Output>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<Output>> auto&& input, Output&& output, rank_type root,
                              std::size_t total) {
    using value = buffer_value_t<Output>;
    return this->launch(operation_to(root), {sizeof(value)}, call_record<value>,
                        memory<value>(detail::elements_of<value>(input), elements(output), root, total), total);
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::gather, element_name<T>(), "", Topology::name);

  [[nodiscard]] op::gather operation_to(rank_type root) const {
    detail::expect_root("gather", root, this->world().size());
    return {root};
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    const std::size_t begin = block_begin(total, n, me);
    detail::expect_block("gather: the input", "`total`, the last argument, is that of all ranks' elements together",
                         input.size(), total, n, me);
    detail::memories result{.input = detail::bytes_of(input), .input_origin = begin};
    if (me == root) {
      detail::expect_size("gather: the output of the root, for the elements of all ranks together,", output.size(),
                          total, "; if ranks give different numbers, pass their sum as the last argument, `total`");
      expects(detail::disjoint(input, output) || input.data() == output.data() + begin,
              "gather: input and output overlap, so the input must begin at its place in the output, element ", begin,
              "; move it there, or use separate memory");
      result.output = detail::bytes_of(output);
      result.work = result.output;
    }
    return result;
  }
};

template <class C, class... Rest>
gather(C&&, Rest...) -> gather<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
