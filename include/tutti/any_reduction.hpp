// SPDX-License-Identifier: Apache-2.0
#pragma once

// Reductions that are known at run time, and the operators that combine by them. A program that links tutti::compiled
// finds their kernels there; else this header compiles them, which takes some 20 seconds with -O2.

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/collective/scan.hpp>
#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/memories.hpp>
#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/reduction/functor.hpp>
#include <tutti/reduction/reduce_with.hpp>  // IWYU pragma: export

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tutti::inline v0_1_0 {

namespace detail {
template <class Op, operation_kind Kind, class Communicator, class Topology, class Operator, class... Calls>
class any_operator;
}

/// A reduction that is known at run time: a name and an element type, or a function of the user.
///
///     tutti::any_reduction const total("sum", tutti::any_element("float32"));  // as tutti::sum<float>
///     tutti::allreduce combine{world, tutti::ring{}, total};
///     combine(data, count);                                                    // in place; data: void*
///     combine(input, output, count);                                           // out of place
///     combine(tutti::any_reduction("max", tutti::any_element("int64")), data, count);  // by another one
///     auto pending = combine.start(data, count);
///
/// The operators allreduce, reduce, reduce_scatter, scan and exscan of any_reduction take pointers and a number of
/// elements where those of other reductions take buffers; input and output may be one. A root follows; a partition
/// stands for the count. A reduction before the other arguments is that of this call alone. Such a rank and one that
/// has the type in its code may meet in one operation, with equal bits.
///
/// Cost: that of the typed operator; some 150 bytes are copied where an operation is by another reduction than the
/// last. Thread safety: copies may be made and dropped by several threads.
class any_reduction {
 public:
  /// A function of the user: each of the n elements of `inout` becomes `input` * `inout`, where `input` comes from
  /// lower ranks than `inout`. As MPI_User_function, but for `context`, which is the user's. An operation calls it any
  /// number of times, with a part of the vector each time, such as 4 KiB of copied elements; so n differs from call to
  /// call, and from rank to rank. If it throws, the operation ends: this rank gets the exception, and the others an
  /// error (failure::cancelled) that names this rank.
  using function = void (*)(void const* input, void* inout, std::size_t n, void* context);

  /// Constructs one of the library's reductions: sum, prod, min, max, mean, logical_and, logical_or, logical_xor,
  /// bit_and, bit_or, bit_xor, min_location or max_location. A byte of a bool that is not 0 is true, and results are 0
  /// or 1; a rank that has the type in its code takes 0 and 1 only, of itself and of others.
  /// @throws precondition_error if there is no such reduction of these elements
  TUTTI_DECL any_reduction(std::string_view name, any_element const& element);
  /// Constructs a reduction by a function, which need not commute: topologies that do not keep rank order refuse it.
  /// Ranks compare its name, the element, and if it commutes. The function is called by the thread that is in a call on
  /// the communicator, with memory that is aligned as the vectors are. `f` and `context` must stay valid until the last
  /// operation by this reduction has ended, also if the reduction and its copies are gone before.
  /// @throws std::bad_alloc
  any_reduction(std::string_view name, any_element const& element, function f, void* context = nullptr)
      : any_reduction(name, element, f, context, false) {}
  /// Constructs a reduction by a function that commutes.
  /// @throws std::bad_alloc
  any_reduction(std::string_view name, any_element const& element, function f, void* context, commutative_t)
      : any_reduction(name, element, f, context, true) {}

  /// True if both are one of the library's reductions, or copies of one of a function.
  friend bool operator==(any_reduction const&, any_reduction const&) = default;

 private:
  template <class Op, operation_kind Kind, class Communicator, class Topology, class Operator, class... Calls>
  friend class detail::any_operator;

  TUTTI_DECL any_reduction(std::string_view name, any_element const& element, function f, void* context, bool commutes);

  intrusive_pointer<detail::reduction_entry const> entry_;
};

namespace detail {

template <>
inline constexpr bool is_any_reduction<any_reduction> = true;

template <class Op, class Topology>
struct parts_of<Op, Topology, any_reduction> {
  using topology = Topology;
  using payload = combining_any;
};

/// An operation of an operator of any_reduction, as its arguments describe it.
template <class Op>
struct any_operation {
  Op op;
  detail::memories memories;
  std::size_t count;
  partition const* blocks = nullptr;
};

/// The vectors of an operation whose input and output have equal lengths, and those of a rank that gets no result.
/// @throws precondition_error if input and output overlap in part, and as bytes_at
[[nodiscard]] inline memories any_vectors(char const* operation, reduction_entry const& entry, void const* input,
                                          void* output, std::size_t count) {
  std::size_t const size = entry.code.size_of(memory::output);
  std::span const source = bytes_at(operation, "the input", input, count, size);
  std::span const target = bytes_at(operation, "the output", output, count, size);
  expects(same_or_apart(source, target), operation,
          ": input and output overlap; use the same memory for both, or separate memory");
  return {.input = source.data(), .work = target.data(), .output = target.data()};
}
[[nodiscard]] inline memories any_input(char const* operation, reduction_entry const& entry, void const* input,
                                        std::size_t count) {
  return {.input = bytes_at(operation, "the input", input, count, entry.code.size_of(memory::output)).data()};
}

/// The calls of an operator of any_reduction with these arguments.
template <class Operator, class... Arguments>
class any_calls {
 public:
  /// Runs the operation by the reduction of construction; returns when this rank's part is done and its memory may be
  /// reused.
  void operator()(Arguments... arguments) { self().run_by(self().reduction_, arguments...); }
  /// Runs the operation by another reduction.
  void operator()(any_reduction const& reduction, Arguments... arguments) { self().run_by(reduction, arguments...); }
  /// Starts the operation by the reduction of construction and returns its request; the memory must stay valid and
  /// untouched until it is complete.
  [[nodiscard]] request start(Arguments... arguments) { return self().start_by(self().reduction_, arguments...); }
  /// Starts the operation by another reduction.
  [[nodiscard]] request start(any_reduction const& reduction, Arguments... arguments) {
    return self().start_by(reduction, arguments...);
  }

 private:
  [[nodiscard]] auto& self() noexcept { return static_cast<typename Operator::any_operator&>(*this); }
};

/// An operator of any_reduction, whose `describe` understands the arguments of `Calls`.
template <class Op, operation_kind Kind, class Communicator, class Topology, class Operator, class... Calls>
class any_operator : public operator_base<Op, Communicator, Topology, any_reduction>,
                     public asynchronous<Operator>,
                     public Calls... {
  using base = operator_base<Op, Communicator, Topology, any_reduction>;

 public:
  using Calls::operator()...;
  using Calls::start...;
  void operator()(...) = delete;  // takes pointers and a count, and a root if there is one; a reduction may come first
  void start(...) = delete;       // takes pointers and a count, and a root if there is one; a reduction may come first

 protected:
  any_operator(Communicator& world, Topology topology, any_reduction const& reduction)
      : base(world, topology, {reduction.entry_.get()}), reduction_(reduction), call_reduction_(reduction) {
    name_call_of(*reduction.entry_);
  }

 private:
  template <class CallsOperator, class... Arguments>
  friend class any_calls;

  template <class... Arguments>
  void run_by(any_reduction const& reduction, Arguments const&... arguments) {
    auto const o = static_cast<Operator&>(*this).describe(*reduction.entry_, arguments...);
    name_call(reduction);
    this->run(o.op, {reduction.entry_.get()}, call_record_, o.memories, o.count, o.blocks);
  }
  template <class... Arguments>
  [[nodiscard]] request start_by(any_reduction const& reduction, Arguments const&... arguments) {
    auto const o = static_cast<Operator&>(*this).describe(*reduction.entry_, arguments...);
    name_call(reduction);
    return this->launch(o.op, {reduction.entry_.get()}, call_record_, o.memories, o.count, o.blocks);
  }

  void name_call(any_reduction const& reduction) {
    if (reduction != call_reduction_) {
      call_reduction_ = reduction;
      name_call_of(*reduction.entry_);
    }
  }
  void name_call_of(reduction_entry const& entry) noexcept {
    constexpr call open_record = make_call(Kind, "", "", Topology::name);
    call_record_ = entry.names;
    call_record_.kind = Kind;
    call_record_.identity ^= open_record.identity;
    std::memcpy(call_record_.topology, open_record.topology, sizeof call_record_.topology);
  }

  any_reduction reduction_;
  any_reduction call_reduction_;  ///< the reduction of `call_record_`
  call call_record_;
};

}  // namespace detail

/// An allreduce of (data, count) or (input, output, count).
template <class Communicator, class Topology>
  requires runs<op::allreduce, Communicator, Topology, any_reduction>
class allreduce<Communicator, Topology, any_reduction>
    : public detail::any_operator<
          op::allreduce, operation_kind::allreduce, Communicator, Topology,
          allreduce<Communicator, Topology, any_reduction>,
          detail::any_calls<allreduce<Communicator, Topology, any_reduction>, void*, std::size_t>,
          detail::any_calls<allreduce<Communicator, Topology, any_reduction>, void const*, void*, std::size_t>> {
 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  allreduce(Communicator& world, Topology topology, any_reduction const& reduction)
      : allreduce::any_operator(world, topology, reduction) {}

 private:
  using base = typename allreduce::any_operator;
  friend base;
  using operation = detail::any_operation<op::allreduce>;
  using entry = detail::reduction_entry;

  static operation describe(entry const& e, void const* input, void* output, std::size_t count) {
    return {{}, detail::any_vectors("allreduce", e, input, output, count), count};
  }
  static operation describe(entry const& e, void* data, std::size_t count) { return describe(e, data, data, count); }
};

/// A reduce of (data, count, root) or (input, output, count, root); other ranks than the root have no output.
template <class Communicator, class Topology>
  requires runs<op::reduce, Communicator, Topology, any_reduction>
class reduce<Communicator, Topology, any_reduction>
    : public detail::any_operator<
          op::reduce, operation_kind::reduce, Communicator, Topology, reduce<Communicator, Topology, any_reduction>,
          detail::any_calls<reduce<Communicator, Topology, any_reduction>, void*, std::size_t, rank_type>,
          detail::any_calls<reduce<Communicator, Topology, any_reduction>, void const*, void*, std::size_t,
                            rank_type>> {
 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  reduce(Communicator& world, Topology topology, any_reduction const& reduction)
      : reduce::any_operator(world, topology, reduction) {}

 private:
  using base = typename reduce::any_operator;
  friend base;
  using operation = detail::any_operation<op::reduce>;
  using entry = detail::reduction_entry;

  operation describe(entry const& e, void const* input, void* output, std::size_t count, rank_type root) const {
    detail::expect_root("reduce", root, this->world().size());
    bool const has_result = this->world().rank() == root;
    return {{root},
            has_result ? detail::any_vectors("reduce", e, input, output, count)
                       : detail::any_input("reduce", e, input, count),
            count};
  }
  operation describe(entry const& e, void* data, std::size_t count, rank_type root) const {
    return describe(e, data, data, count, root);
  }
};

/// A reduce_scatter of (data, count) or (input, output, count), where the input has `count` elements; a partition may
/// stand in place of the count.
template <class Communicator, class Topology>
  requires runs<op::reduce_scatter, Communicator, Topology, any_reduction>
class reduce_scatter<Communicator, Topology, any_reduction>
    : public detail::any_operator<
          op::reduce_scatter, operation_kind::reduce_scatter, Communicator, Topology,
          reduce_scatter<Communicator, Topology, any_reduction>,
          detail::any_calls<reduce_scatter<Communicator, Topology, any_reduction>, void*, std::size_t>,
          detail::any_calls<reduce_scatter<Communicator, Topology, any_reduction>, void const*, void*, std::size_t>,
          detail::any_calls<reduce_scatter<Communicator, Topology, any_reduction>, void*, partition const&>,
          detail::any_calls<reduce_scatter<Communicator, Topology, any_reduction>, void const*, void*,
                            partition const&>> {
 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  reduce_scatter(Communicator& world, Topology topology, any_reduction const& reduction)
      : reduce_scatter::any_operator(world, topology, reduction) {}

 private:
  using base = typename reduce_scatter::any_operator;
  friend base;
  using operation = detail::any_operation<op::reduce_scatter>;
  using entry = detail::reduction_entry;

  static operation describe(entry const& e, void* data, std::size_t count) {
    return {{}, detail::any_vectors("reduce_scatter", e, data, data, count), count};
  }
  operation describe(entry const& e, void const* input, void* output, std::size_t count) const {
    rank_type const n = this->world().size();
    rank_type const me = this->world().rank();
    return apart(e, input, output, count, block_begin(count, n, me), block_size(count, n, me));
  }
  operation describe(entry const& e, void* data, partition const& blocks) const {
    detail::expect_partition("reduce_scatter", blocks, this->world().size());
    operation o = describe(e, data, blocks.count());
    o.blocks = &blocks;
    return o;
  }
  operation describe(entry const& e, void const* input, void* output, partition const& blocks) const {
    detail::expect_partition("reduce_scatter", blocks, this->world().size());
    rank_type const me = this->world().rank();
    operation o = apart(e, input, output, blocks.count(), blocks.begin(me), blocks.length(me));
    o.blocks = &blocks;
    return o;
  }

  static operation apart(entry const& e, void const* input, void* output, std::size_t count, std::size_t begin,
                         std::size_t length) {
    std::size_t const size = e.code.size_of(memory::output);
    std::span const source = detail::bytes_at("reduce_scatter", "the input", input, count, size);
    std::span const target = detail::bytes_at("reduce_scatter", "the output", output, length, size);
    expects(detail::disjoint(source, target),
            "reduce_scatter: input and output overlap; call it in place with one vector instead");
    return {{}, {.input = source.data(), .output = target.data(), .output_origin = begin}, count};
  }
};

/// A scan of (data, count) or (input, output, count).
template <class Communicator, class Topology>
  requires runs<op::scan, Communicator, Topology, any_reduction>
class scan<Communicator, Topology, any_reduction>
    : public detail::any_operator<
          op::scan, operation_kind::scan, Communicator, Topology, scan<Communicator, Topology, any_reduction>,
          detail::any_calls<scan<Communicator, Topology, any_reduction>, void*, std::size_t>,
          detail::any_calls<scan<Communicator, Topology, any_reduction>, void const*, void*, std::size_t>> {
 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  scan(Communicator& world, Topology topology, any_reduction const& reduction)
      : scan::any_operator(world, topology, reduction) {}

 private:
  using base = typename scan::any_operator;
  friend base;
  using operation = detail::any_operation<op::scan>;
  using entry = detail::reduction_entry;

  static operation describe(entry const& e, void const* input, void* output, std::size_t count) {
    return {{}, detail::any_vectors("scan", e, input, output, count), count};
  }
  static operation describe(entry const& e, void* data, std::size_t count) { return describe(e, data, data, count); }
};

/// An exscan of (data, count) or (input, output, count); rank 0 has no output.
template <class Communicator, class Topology>
  requires runs<op::exscan, Communicator, Topology, any_reduction>
class exscan<Communicator, Topology, any_reduction>
    : public detail::any_operator<
          op::exscan, operation_kind::exscan, Communicator, Topology, exscan<Communicator, Topology, any_reduction>,
          detail::any_calls<exscan<Communicator, Topology, any_reduction>, void*, std::size_t>,
          detail::any_calls<exscan<Communicator, Topology, any_reduction>, void const*, void*, std::size_t>> {
 public:
  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  exscan(Communicator& world, Topology topology, any_reduction const& reduction)
      : exscan::any_operator(world, topology, reduction) {}

 private:
  using base = typename exscan::any_operator;
  friend base;
  using operation = detail::any_operation<op::exscan>;
  using entry = detail::reduction_entry;

  operation describe(entry const& e, void const* input, void* output, std::size_t count) const {
    void* const result = this->world().rank() == 0 ? const_cast<void*>(input) : output;  // rank 0 only sends
    return {{}, detail::any_vectors("exscan", e, input, result, count), count};
  }
  operation describe(entry const& e, void* data, std::size_t count) const { return describe(e, data, data, count); }
};

}  // namespace tutti

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/any_reduction.ipp>
#endif
