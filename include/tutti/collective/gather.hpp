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
#include <vector>

namespace tutti::inline v0_1_0 {

/// The root ends with the blocks of all ranks, in rank order.
///
///     tutti::gather collect{world, tutti::binary_tree{}};
///     collect(input, output, 0);          // equal blocks; `output` is used at the root only
///     collect(input, output, 0, total);   // `total` elements in all: the first ranks give one more
///     collect(input, output, 0, tutti::partition{5, 0, 12});  // ranks 0, 1 and 2 give 5, 0 and 12 elements
///     collect(from, to, total, tutti::any_element("int32"), 0);  // pointers, and a type that is known at run time
///
/// Shape: rank r of n gives block_size(total, n, r) elements; the root ends with all `total` elements, those of rank r
/// from block_begin(total, n, r) on. By default, `total` is n times the number that each rank gives. With a partition
/// p: p.length(r), p.count() and p.begin(r). `output` is ignored on other ranks.
///
/// @pre root, total or partition, and type are the same on all ranks; at the root `input` is at its place in `output`,
/// or does not overlap it
/// @throws precondition_error if the root is no rank, a buffer has another size, or the two overlap otherwise, or if
/// the partition is of another number of ranks
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
  /// Runs the operation on blocks of any lengths; returns when this rank's part is done and its memory may be reused.
  template <lasting_mutable_buffer Output>
  void operator()(buffer_of<buffer_value_t<Output>> auto const& input, Output&& output, rank_type root,
                  partition const& blocks) {
    using value = buffer_value_t<Output>;
    this->run(operation_to(root), {sizeof(value)}, call_record<value>,
              memory<value>(detail::elements_of<value>(input), elements(output), root, blocks), blocks.count(),
              &blocks);
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
  /// Starts the operation on blocks of any lengths and returns its request; the memory must stay valid and untouched
  /// until it is complete. The partition is copied.
  template <lasting_mutable_buffer Output>
  [[nodiscard]] request start(lasting_buffer_of<buffer_value_t<Output>> auto&& input, Output&& output, rank_type root,
                              partition const& blocks) {
    using value = buffer_value_t<Output>;
    return this->launch(operation_to(root), {sizeof(value)}, call_record<value>,
                        memory<value>(detail::elements_of<value>(input), elements(output), root, blocks),
                        blocks.count(), &blocks);
  }

  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, std::size_t total, any_element const& type, rank_type root) {
    this->run(operation_to(root), {type.size()}, detail::typed_call(open_record, type),
              memory(input, output, root, total, type.size()), total);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, std::size_t total, any_element const& type,
                              rank_type root) {
    return this->launch(operation_to(root), {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, root, total, type.size()), total);
  }
  /// Runs the operation on elements of a type that is known at run time; returns when this rank's part is done and its
  /// memory may be reused.
  void operator()(void const* input, void* output, partition const& blocks, any_element const& type, rank_type root) {
    this->run(operation_to(root), {type.size()}, detail::typed_call(open_record, type),
              memory(input, output, root, blocks, type.size()), blocks.count(), &blocks);
  }
  /// Starts the operation on elements of a type that is known at run time and returns its request; the memory must stay
  /// valid and untouched until it is complete.
  [[nodiscard]] request start(void const* input, void* output, partition const& blocks, any_element const& type,
                              rank_type root) {
    return this->launch(operation_to(root), {type.size()}, detail::typed_call(open_record, type),
                        memory(input, output, root, blocks, type.size()), blocks.count(), &blocks);
  }

  /// Gathers blocks of any lengths. Each rank need know the length of its own block only. All ranks call this form.
  ///
  ///     auto const all = collect.gather_uneven(my_rows, 0);
  ///     all.elements[all.blocks.begin(2)];  // at rank 0: the first element of rank 2, if it has given one
  ///
  /// Every rank gets the lengths, because ranks inside a tree forward blocks of others; the root alone gets elements.
  ///
  /// Cost: three operations: a gather and a broadcast of one std::size_t of each rank, then the gather of the elements,
  /// in new memory.
  template <buffer Input>
    requires std::default_initializable<buffer_value_t<Input>> && mutable_buffer<std::vector<buffer_value_t<Input>>> &&
             offers<Topology, op::broadcast>
  [[nodiscard]] gathered_blocks<buffer_value_t<Input>> gather_uneven(Input const& input, rank_type root) {
    auto const source = elements(input);
    std::vector<std::size_t> lengths(this->world().size());
    (*this)(source.size(), lengths, root);
    broadcast share{this->world(), this->topology()};
    share.deadline(this->deadline());
    share.label(this->label());
    share(lengths, root);
    auto result = this->template make_room<buffer_value_t<Input>>(lengths, [&](partition const& blocks) {
      return this->world().rank() == root ? blocks.count() : std::size_t{0};
    });
    (*this)(source, result.elements, root, result.blocks);
    return result;
  }

  using calls::operator();
  using calls::start;

 private:
  template <class T>
  static constexpr call call_record = make_call(operation_kind::gather, element_name<T>(), "", Topology::name);
  static constexpr call open_record = make_call(operation_kind::gather, "", "", Topology::name);

  [[nodiscard]] op::gather operation_to(rank_type root) const {
    detail::expect_root("gather", root, this->world().size());
    return {root};
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total) const {
    const rank_type n = this->world().size();
    const rank_type me = this->world().rank();
    detail::expect_block("gather: the input", "`total`, the last argument, is that of all ranks' elements together",
                         input.size(), total, n, me);
    return memory(input, output, root, total, block_begin(total, n, me));
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root,
                          partition const& blocks) const {
    const rank_type me = this->world().rank();
    detail::expect_partition("gather", blocks, this->world().size());
    detail::expect_size("gather: the input, this rank's block of the partition,", input.size(), blocks.length(me));
    return memory(input, output, root, blocks.count(), blocks.begin(me));
  }
  template <class T>
  detail::memories memory(std::span<T const> input, std::span<T> output, rank_type root, std::size_t total,
                          std::size_t begin) const {
    detail::memories result{.input = detail::bytes_of(input), .input_origin = begin};
    if (this->world().rank() == root) {
      detail::expect_size(
          "gather: the output of the root, for the elements of all ranks together,", output.size(), total,
          "; if ranks give different numbers, pass their sum or a tutti::partition as the last argument");
      expect_places(input, output, sizeof(T), begin);
      result.output = detail::bytes_of(output);
      result.work = result.output;
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
    detail::expect_partition("gather", blocks, this->world().size());
    return memory(input, output, root, blocks.count(), size, blocks.begin(me), blocks.length(me));
  }
  detail::memories memory(void const* input, void* output, rank_type root, std::size_t total, std::size_t size,
                          std::size_t begin, std::size_t length) const {
    bool const is_root = this->world().rank() == root;
    std::span const source = detail::bytes_at("gather", "the input", input, length, size);
    std::span const target(static_cast<std::byte*>(output),
                           detail::expect_region("gather", "the output of the root", !is_root || output != nullptr,
                                                 total, size));  // other ranks may forward all blocks
    detail::memories result{.input = source.data(), .input_origin = begin};
    if (is_root) {
      expect_places(source, target, size, begin);
      result.output = target.data();
      result.work = result.output;
    }
    return result;
  }

  template <class T>
  static void expect_places(std::span<T const> input, std::span<T> output, std::size_t size, std::size_t begin) {
    expects(detail::disjoint(input, output) || detail::bytes_of(input) == detail::bytes_of(output) + begin * size,
            "gather: input and output overlap, so the input must begin at its place in the output, element ", begin,
            "; move it there, or use separate memory");
  }
};

template <class C, class... Rest>
gather(C&&, Rest...) -> gather<detail::given_communicator<C>, detail::given_topology<1, Rest...>>;

}  // namespace tutti
