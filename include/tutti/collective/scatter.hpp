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

/// Rank r ends with block r of the root's vector.
///
///     tutti::scatter deal{world, tutti::binary_tree{}};
///     deal(input, output, 0);          // equal blocks; `input` is used at the root only
///     deal(input, output, 0, total);   // `total` elements in all: the first ranks get one more
///
/// Shape: the root gives `total` elements; rank r of n ends with block_size(total, n, r) of them, from
/// block_begin(total, n, r) on. By default, `total` is n times the number that each rank gets. `input` is ignored on
/// other ranks.
///
/// @pre root, total and type are the same on all ranks; at the root `output` is at its place in `input`, or does not
/// overlap it
/// @throws precondition_error if the root is no rank, a buffer has another size, or the two overlap otherwise
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::scatter, where S is the bytes of all `total` elements; scratch memory of S on
/// ranks that forward blocks.
/// Thread safety: as the communicator.
template <class Communicator, class Topology>
  requires runs<op::scatter, Communicator, Topology>
class scatter : public operator_base<op::scatter, Communicator, Topology>,
                public asynchronous<scatter<Communicator, Topology>>,
                private detail::scatter_calls {
  using base = operator_base<op::scatter, Communicator, Topology>;
  using calls = detail::scatter_calls;

 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  scatter(Communicator& world, Topology topology) : base(world, topology, {1}) {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <buffer Input>
  void operator()(Input const& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output, rank_type root) {
    (*this)(input, output, root, detail::elements_of<buffer_value_t<Input>>(output).size() * this->world().size());
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  template <buffer Input>
  void operator()(Input const& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output, rank_type root,
                  std::size_t total) {
    using value = buffer_value_t<Input>;
    this->run(operation_from(root), {sizeof(value)}, call_record<value>,
              memory<value>(elements(input), detail::elements_of<value>(output), root, total), total);
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_buffer Input>
  [[nodiscard]] request start(Input&& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output,
                              rank_type root) {
    return start(input, output, root, detail::elements_of<buffer_value_t<Input>>(output).size() * this->world().size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  template <lasting_buffer Input>
  [[nodiscard]] request start(Input&& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output,
                              rank_type root, std::size_t total) {
    using value = buffer_value_t<Input>;
    return this->launch(operation_from(root), {sizeof(value)}, call_record<value>,
                        memory<value>(elements(input), detail::elements_of<value>(output), root, total), total);
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::scatter, element_name<T>(), "", Topology::name);

  [[nodiscard]] op::scatter operation_from(rank_type root) const {
    detail::expect_root("scatter", root, this->world().size());
    return {root};
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    const std::size_t begin = block_begin(total, n, me);
    detail::expect_block("scatter: the output", "`total`, the last argument, is that of all ranks' elements together",
                         output.size(), total, n, me);
    detail::memories result{.output = detail::bytes_of(output), .output_origin = begin};
    if (me == root) {
      detail::expect_size("scatter: the input of the root, the elements of all ranks together,", input.size(), total,
                          "; if ranks get different numbers, pass their sum as the last argument, `total`");
      expects(detail::disjoint(input, output) || output.data() == input.data() + begin,
              "scatter: input and output overlap, so the output must begin at its place in the input, element ", begin,
              "; move it there, or use separate memory");
      result.input = detail::bytes_of(input);
    }
    return result;
  }
};

template <class C, class... Rest>
scatter(C&&, Rest...) -> scatter<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
