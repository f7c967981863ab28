// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/partition.hpp>

#include <concepts>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Rank r ends with block r of the root's vector.
///
///     tutti::scatter deal{world, tutti::binary_tree{}};
///     deal(input, output, 0);          // equal blocks; `input` is used at the root only
///     deal(input, output, 0, total);   // `total` elements in all: the first ranks get one more
///     deal(input, output, 0, tutti::partition{5, 0, 12});  // ranks 0, 1 and 2 get 5, 0 and 12 elements
///     deal(from, to, total, tutti::any_element("int32"), 0);  // pointers, and a type that is known at run time
///
/// Shape: the root gives `total` elements; rank r of n ends with block_size(total, n, r) of them, from
/// block_begin(total, n, r) on. By default, `total` is n times the number that each rank gets. With a partition p:
/// p.count(), p.length(r) and p.begin(r). `input` is ignored on other ranks.
///
/// @pre root, total or partition, and type are the same on all ranks; at the root `output` is at its place in `input`,
/// or does not overlap it
/// @throws precondition_error if the root is no rank, a buffer has another size, or the two overlap otherwise, or if
/// the partition is of another number of ranks
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
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  template <buffer Input>
  void operator()(Input const& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output, rank_type root,
                  partition const& blocks) {
    using value = buffer_value_t<Input>;
    this->run(operation_from(root), {sizeof(value)}, call_record<value>,
              memory<value>(elements(input), detail::elements_of<value>(output), root, blocks), blocks.count(),
              &blocks);
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
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  template <lasting_buffer Input>
  [[nodiscard]] request start(Input&& input, lasting_mutable_buffer_of<buffer_value_t<Input>> auto&& output,
                              rank_type root, partition const& blocks) {
    using value = buffer_value_t<Input>;
    return this->launch(operation_from(root), {sizeof(value)}, call_record<value>,
                        memory<value>(elements(input), detail::elements_of<value>(output), root, blocks),
                        blocks.count(), &blocks);
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, std::size_t total, any_element const& type, rank_type root) {
    this->run(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
              memory(input, output, root, total, type.size()), total);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, std::size_t total, any_element const& type,
                              rank_type root) {
    return this->launch(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, root, total, type.size()), total);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, partition const& blocks, any_element const& type, rank_type root) {
    this->run(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
              memory(input, output, root, blocks, type.size()), blocks.count(), &blocks);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, partition const& blocks, any_element const& type,
                              rank_type root) {
    return this->launch(operation_from(root), {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, root, blocks, type.size()), blocks.count(), &blocks);
  }

  /// Scatters blocks of any lengths, which only the root knows: returns this rank's block. All ranks call this form;
  /// `input` and `blocks` are ignored on other ranks than the root.
  ///
  ///     auto const my_rows = deal.scatter_uneven(rows, blocks, 0);
  ///
  /// Cost: two operations: a broadcast of one std::size_t for each rank, because ranks inside a tree forward blocks of
  /// others; then the scatter of the elements, to new memory.
  template <buffer Input>
    requires std::default_initializable<buffer_value_t<Input>> && mutable_buffer<std::vector<buffer_value_t<Input>>> &&
             offers<Topology, op::broadcast>
  [[nodiscard]] std::vector<buffer_value_t<Input>> scatter_uneven(Input const& input, partition const& blocks,
                                                                  rank_type root) {
    auto const source = elements(input);
    std::vector<std::size_t> lengths(this->world().size());
    if (this->world().rank() == root) {
      detail::expect_partition("scatter", blocks, this->world().size());
      expect_input(source.size(), blocks.count());
      for (rank_type r = 0; r < blocks.size(); ++r) {
        lengths[r] = blocks.length(r);
      }
    }
    broadcast share{this->world(), this->topology()};
    share.deadline(this->deadline());
    share.label(this->label());
    share(lengths, root);
    auto result = this->template make_room<buffer_value_t<Input>>(
        lengths, [&](partition const& all_blocks) { return all_blocks.length(this->world().rank()); });
    (*this)(source, result.elements, root, result.blocks);
    return std::move(result.elements);
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::scatter, element_name<T>(), "", Topology::name);
  static constexpr call open_record = make_call(operation_kind::scatter, "", "", Topology::name);

  [[nodiscard]] op::scatter operation_from(rank_type root) const {
    detail::expect_root("scatter", root, this->world().size());
    return {root};
  }
  static void expect_input(std::size_t actual, std::size_t total) {
    detail::expect_size("scatter: the input of the root, the elements of all ranks together,", actual, total,
                        "; if ranks get different numbers, pass their sum or a tutti::partition as the last argument");
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    detail::expect_block("scatter: the output", "`total`, the last argument, is that of all ranks' elements together",
                         output.size(), total, n, me);
    return memory(input, output, root, total, block_begin(total, n, me));
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root,
                          partition const& blocks) const {
    const rank_type me = this->world().rank();
    detail::expect_partition("scatter", blocks, this->world().size());
    detail::expect_size("scatter: the output, this rank's block of the partition,", output.size(), blocks.length(me));
    return memory(input, output, root, blocks.count(), blocks.begin(me));
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total,
                          std::size_t begin) const {
    detail::memories result{.output = detail::bytes_of(output), .output_origin = begin};
    if (this->world().rank() == root) {
      expect_input(input.size(), total);
      expect_places(input, output, sizeof(T), begin);
      result.input = detail::bytes_of(input);
    }
    return result;
  }

  detail::memories memory(void const* input, void* output, rank_type root, std::size_t total, std::size_t size) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    return memory(input, output, root, total, size, block_begin(total, n, me), block_size(total, n, me));
  }
  detail::memories memory(void const* input, void* output, rank_type root, partition const& blocks,
                          std::size_t size) const {
    const rank_type me = this->world().rank();
    detail::expect_partition("scatter", blocks, this->world().size());
    return memory(input, output, root, blocks.count(), size, blocks.begin(me), blocks.length(me));
  }
  detail::memories memory(void const* input, void* output, rank_type root, std::size_t total, std::size_t size,
                          std::size_t begin, std::size_t length) const {
    bool const is_root = this->world().rank() == root;
    std::span const source(static_cast<std::byte const*>(input),
                           detail::expect_region("scatter", "the input of the root", !is_root || input != nullptr,
                                                 total, size));  // other ranks may forward all blocks
    std::span const target = detail::bytes_at("scatter", "the output", output, length, size);
    detail::memories result{.output = target.data(), .output_origin = begin};
    if (is_root) {
      expect_places(source, target, size, begin);
      result.input = source.data();
    }
    return result;
  }

  template <class T>
  static void expect_places(std::span<T const> input, std::span<T> output, std::size_t size, std::size_t begin) {
    expects(detail::disjoint(input, output) || detail::bytes_of(output) == detail::bytes_of(input) + begin * size,
            "scatter: input and output overlap, so the output must begin at its place in the input, element ", begin,
            "; move it there, or use separate memory");
  }
};

template <class C, class... Rest>
scatter(C&&, Rest...) -> scatter<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
