// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/any_element.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/extend/buffer.hpp>
#include <tutti/extend/device_span.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/reduction.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <type_traits>

/// The arguments that operators take, described once for each operator, and the sentence for each argument that none of
/// its overloads takes.
namespace tutti::inline v0_1_0::detail::inline collective {

/// Stand for element types: any one, and the one of the `open_element` argument.
struct open_element;
struct same_element;

/// Arguments of an operator: a buffer that is read, a buffer that is written, the root or another rank, the total
/// number of elements, and the lengths of the blocks.
template <class T>
struct reads;
template <class T>
struct writes;
struct rank_argument;
struct total_argument;
struct partition_argument;
/// A container whose length the other rank does not know, in blocking calls.
struct sent_container;
struct received_container;
/// Arguments for a type that is known at run time: a pointer to elements that are read, one to elements that are
/// written, and the type.
struct reads_at;
struct writes_at;
struct type_argument;

/// Stands for the operation of a barrier, which has no arguments.
struct meeting;

/// Stands for an argument that is a list in braces, which has no type.
struct braced_list {
  braced_list();
  template <class T>
  braced_list(std::initializer_list<T>);
  template <class First, class Second, class... Rest>
  braced_list(First&&, Second&&, Rest&&...);
};

/// One way to call an operator.
template <class... Roles>
struct form;

/// A blocking call reads its inputs before it returns; a started one reads them later.
enum class calling : bool { now, later };

template <calling Time, class Role, class Argument, class Element>
inline constexpr bool fits = std::convertible_to<Argument, rank_type>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, total_argument, Argument, Element> = std::convertible_to<Argument, std::size_t>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, partition_argument, Argument, Element> =
    std::same_as<std::remove_cvref_t<Argument>, partition>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, sent_container, Argument, Element> =
    Time == calling::now && is_any_length<std::remove_cvref_t<Argument>>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, received_container, Argument, Element> =
    Time == calling::now && is_resizable<std::remove_cvref_t<Argument>>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, reads_at, Argument, Element> = std::convertible_to<Argument, void const*>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, writes_at, Argument, Element> = std::convertible_to<Argument, void*>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, type_argument, Argument, Element> =
    std::same_as<std::remove_cvref_t<Argument>, any_element>;
template <calling Time, class T, class Argument, class Element>
inline constexpr bool fits<Time, reads<T>, Argument, Element> =
    (Time == calling::now || lasting<Argument>)&&buffer_of<std::remove_cvref_t<Argument>, T>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, reads<open_element>, Argument, Element> =
    (Time == calling::now || lasting<Argument>)&&buffer<std::remove_cvref_t<Argument>>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, reads<same_element>, Argument, Element> =
    fits<Time, reads<Element>, Argument, Element>;
template <calling Time, class T, class Argument, class Element>
inline constexpr bool fits<Time, writes<T>, Argument, Element> = lasting_mutable_buffer_of<Argument, T>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, writes<open_element>, Argument, Element> = lasting_mutable_buffer<Argument>;
template <calling Time, class Argument, class Element>
inline constexpr bool fits<Time, writes<same_element>, Argument, Element> =
    fits<Time, writes<Element>, Argument, Element>;

/// The element type of an `open_element` argument, or void.
template <class Role, class Argument>
struct open_element_of : std::type_identity<void> {};
template <buffer Argument>
struct open_element_of<reads<open_element>, Argument> : std::type_identity<buffer_value_t<Argument>> {};
template <buffer Argument>
struct open_element_of<writes<open_element>, Argument> : std::type_identity<buffer_value_t<Argument>> {};

template <class... Types>
struct first_type : std::type_identity<void> {};
template <class First, class... Rest>
struct first_type<First, Rest...> : std::conditional<std::is_void_v<First>, typename first_type<Rest...>::type, First> {
};

template <calling Time, class Form, class... Arguments>
struct call_of {
  static constexpr bool has_its_number = false;
  static constexpr bool is_accepted = false;
};
template <calling Time, class... Roles, class... Arguments>
  requires(sizeof...(Roles) == sizeof...(Arguments))
struct call_of<Time, form<Roles...>, Arguments...> {
  using element_type = typename first_type<typename open_element_of<Roles, Arguments>::type...>::type;
  static constexpr bool has_its_number = true;
  static constexpr bool is_accepted = (fits<Time, Roles, Arguments, element_type> && ...);
};

/// The reasons for which an argument is refused.
enum class flaw {
  no_flaw,
  braces,
  pointer,
  iterator,
  device,
  bits,
  not_contiguous,
  strides,
  object,
  unknown,
  not_copyable,
  over_aligned_elements,
  another_type,
  two_types,
  read_only,
  lost_result,
  dead_temporary,
  no_root,
  no_partition,
  any_length,
  no_pointers,
};

/// The reason for which a buffer is refused; Wanted is the element type, or void.
template <calling Time, bool IsWritten, class Element, bool IsSameAsOther, class Argument>
[[nodiscard]] consteval flaw flaw_of_buffer() {
  using object = std::remove_reference_t<Argument>;
  using bare = std::remove_cv_t<object>;
  constexpr bool is_array = std::is_array_v<object>;
  if constexpr (!buffer<Argument> && !std::same_as<bare, Element>) {
    if constexpr (is_any_length<bare>) {
      return flaw::any_length;
    } else if constexpr (std::same_as<bare, braced_list>) {
      return flaw::braces;
    } else if constexpr ((std::is_pointer_v<bare> && !is_array) || std::is_null_pointer_v<bare>) {
      return flaw::pointer;
    } else if constexpr (std::input_or_output_iterator<bare>) {
      return flaw::iterator;
    } else if constexpr (device_memory<bare>) {
      return flaw::device;
    } else if constexpr (laid_out<object>) {
      using value = std::remove_cvref_t<decltype(*first_of(std::declval<object&>()))>;
      return std::is_trivially_copyable_v<value> ? flaw::over_aligned_elements : flaw::not_copyable;
    } else if constexpr (std::ranges::range<object&>) {
      if constexpr (std::same_as<std::ranges::range_value_t<object&>, bool>) {
        return flaw::bits;
      } else {
        return flaw::not_contiguous;
      }
    } else if constexpr (requires(object& b) { b.data(), b.size(); }) {
      return flaw::strides;
    } else if constexpr (element<bare> && std::is_void_v<Element>) {
      return flaw::object;
    } else if constexpr (element<bare> && IsWritten && !lasting<Argument>) {
      return Time == calling::later ? flaw::dead_temporary : flaw::lost_result;
    } else if constexpr (element<bare> && !requires(object& o) { *o; }) {
      return flaw::another_type;
    } else {
      return flaw::unknown;
    }
  } else if constexpr ((IsWritten || Time == calling::later) && !lasting<Argument>) {
    return Time == calling::later ? flaw::dead_temporary : flaw::lost_result;
  } else if constexpr (!std::is_void_v<Element> && !buffer_of<Argument, Element>) {
    return IsSameAsOther ? flaw::two_types : flaw::another_type;
  } else if constexpr (IsWritten &&
                       !(std::is_void_v<Element> ? mutable_buffer<Argument> : mutable_buffer_of<Argument, Element>)) {
    return flaw::read_only;
  } else {
    return flaw::no_flaw;
  }
}

template <calling Time, class Role, class Argument, class Element>
inline constexpr flaw flaw_of = fits<Time, Role, Argument, Element>                        ? flaw::no_flaw
                                : std::same_as<std::remove_cvref_t<Argument>, any_element> ? flaw::no_pointers
                                                                                           : flaw::no_root;
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, partition_argument, Argument, Element> =
    fits<Time, partition_argument, Argument, Element> ? flaw::no_flaw : flaw::no_partition;
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, reads_at, Argument, Element> =
    fits<Time, reads_at, Argument, Element> ? flaw::no_flaw : flaw::no_pointers;
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, writes_at, Argument, Element> =
    fits<Time, writes_at, Argument, Element> ? flaw::no_flaw : flaw::no_pointers;
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, type_argument, Argument, Element> =
    fits<Time, type_argument, Argument, Element> ? flaw::no_flaw : flaw::no_pointers;
template <calling Time, class T, class Argument, class Element>
inline constexpr flaw flaw_of<Time, reads<T>, Argument, Element> = flaw_of_buffer<Time, false, T, false, Argument>();
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, reads<open_element>, Argument, Element> =
    flaw_of_buffer<Time, false, void, false, Argument>();
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, reads<same_element>, Argument, Element> =
    flaw_of_buffer<Time, false, Element, true, Argument>();
template <calling Time, class T, class Argument, class Element>
inline constexpr flaw flaw_of<Time, writes<T>, Argument, Element> = flaw_of_buffer<Time, true, T, false, Argument>();
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, writes<open_element>, Argument, Element> =
    flaw_of_buffer<Time, true, void, false, Argument>();
template <calling Time, class Argument, class Element>
inline constexpr flaw flaw_of<Time, writes<same_element>, Argument, Element> =
    flaw_of_buffer<Time, true, Element, true, Argument>();

/// The first flaw of a call that has the number of arguments of this form.
template <calling Time, class Form, class... Arguments>
inline constexpr flaw first_flaw = flaw::no_flaw;
template <calling Time, class... Roles, class... Arguments>
  requires(sizeof...(Roles) == sizeof...(Arguments))
inline constexpr flaw first_flaw<Time, form<Roles...>, Arguments...> = [] {
  using element_type = typename call_of<Time, form<Roles...>, Arguments...>::element_type;
  flaw result = flaw::no_flaw;
  ((result = result != flaw::no_flaw ? result : flaw_of<Time, Roles, Arguments, element_type>), ...);
  return result;
}();

/// Refuses a call that no form accepts: the compiler's first error is the sentence.
template <class Op, bool Reads, calling Time, class Forms, class... Arguments>
struct refusal;
template <class Op, bool Reads, calling Time, class... Forms, class... Arguments>
struct refusal<Op, Reads, Time, form<Forms...>, Arguments...> {
  static constexpr bool has_number = (call_of<Time, Forms, Arguments...>::has_its_number || ...);
  static constexpr flaw cause = [] {
    flaw first = flaw::no_flaw;
    ((first = first != flaw::no_flaw ? first : first_flaw<Time, Forms, Arguments...>), ...);
    return first;
  }();
  template <class OtherOp>
  static constexpr bool fits_number = has_number || !std::same_as<Op, OtherOp>;

  static_assert(fits_number<op::allreduce>,
                "allreduce takes (data) or (input, output); where contributions and results are of two types, only the "
                "latter");
  static_assert(fits_number<op::scan>,
                "scan takes (data) or (input, output); where contributions and results are of two types, only the "
                "latter");
  static_assert(fits_number<op::exscan>,
                "exscan takes (data) or (input, output); where contributions and results are of two types, only the "
                "latter");
  static_assert(fits_number<op::reduce>, "reduce takes (data, root) or (input, output, root); is the root missing?");
  static_assert(fits_number<op::broadcast>, "broadcast takes (data, root); is the root missing?");
  static_assert(fits_number<op::reduce_scatter>,
                "reduce_scatter takes (data) or (input, output), each also with a tutti::partition behind it; where "
                "contributions and results are of two types, only the latter");
  static_assert(fits_number<op::allgather>,
                "allgather takes (output) or (input, output), each also with a tutti::partition behind it");
  static_assert(
      fits_number<op::gather>,
      "gather takes (input, output, root), and behind them the total or a tutti::partition where ranks give different "
      "numbers of elements; is the root missing?");
  static_assert(
      fits_number<op::scatter>,
      "scatter takes (input, output, root), and behind them the total or a tutti::partition where ranks get different "
      "numbers of elements; is the root missing?");
  static_assert(
      fits_number<op::alltoall>,
      "alltoall takes (input, output), and behind them two tutti::partition, of the lengths that are sent and "
      "received, where they differ");
  static_assert(fits_number<meeting>, "barrier takes no arguments: it moves no elements");
  static_assert(fits_number<op::transfer> || !Reads, "send takes (data, rank); is the receiver's rank missing?");
  static_assert(fits_number<op::transfer> || Reads, "recv takes (data, rank); is the sender's rank missing?");

  static_assert(cause != flaw::no_root || std::same_as<Op, op::transfer>,
                "the root, a rank, is missing here: it comes after the buffers");
  static_assert(cause != flaw::no_root || !std::same_as<Op, op::transfer>,
                "the other one's rank is missing here: it comes after the buffer");
  static_assert(cause != flaw::no_partition,
                "the last argument is a tutti::partition, made of the lengths of all ranks' blocks");
  static_assert(
      cause != flaw::any_length,
      "any_length is for containers that have resize, in blocking send and recv and in tutti::exchange, which "
      "can be started");
  static_assert(cause != flaw::no_pointers,
                "a call for a type that is known at run time takes pointers, a count or a tutti::partition, and a "
                "tutti::any_element, in this order; then the root or the other rank, if there is one");
  static_assert(cause != flaw::braces,
                "a list in braces is no buffer: make it a variable, such as a std::vector or an array, and give that");
  static_assert(cause != flaw::pointer,
                "a pointer does not say how many elements there are: give std::span(pointer, count)");
  static_assert(cause != flaw::iterator,
                "an iterator does not say how many elements there are: give the container, or std::span(first, last)");
  static_assert(cause != flaw::device, "this is memory of a device: call enqueue with it and a stream");
  static_assert(
      cause != flaw::bits,
      "the elements of std::vector<bool> are bits, which have no address: take std::vector<char>, or an array of "
      "bool");
  static_assert(cause != flaw::not_contiguous,
                "the elements of this range are not one after the other in memory: copy them to a std::vector, or give "
                "std::span(pointer, count)");
  static_assert(cause != flaw::strides,
                "data() and size() do not say whether there are gaps between the elements: give "
                "std::span(x.data(), count), or specialise tutti::enable_buffer for this class");
  static_assert(cause != flaw::object,
                "one object of a class is no buffer unless the operator knows the type: give std::span(&object, 1)");
  static_assert(cause != flaw::unknown,
                "this is no buffer: give a number, a contiguous range, such as std::vector, or "
                "std::span(pointer, count)");
  static_assert(cause != flaw::not_copyable,
                "these elements are not trivially copyable, such as std::string: what travels are bytes, so send "
                "characters and lengths");
  static_assert(cause != flaw::over_aligned_elements,
                "these elements are aligned to more than 16 bytes, which messages are not");
  static_assert(cause != flaw::another_type,
                "the elements are of another type than those of the reduction: name it there, as in "
                "tutti::sum<double>{}, or convert the elements");
  static_assert(cause != flaw::two_types, "input and output must have elements of one type");
  static_assert(cause != flaw::read_only, "this buffer is written, so it must not be const");
  static_assert(cause != flaw::lost_result,
                "the result would be lost with this temporary: give a variable, or a span of one");
  static_assert(cause != flaw::dead_temporary,
                "the operation uses this memory after the call, when the temporary is gone: give a variable, or a span "
                "of one");
  static_assert(cause != flaw::no_flaw || !has_number, "no form of this operator takes these arguments");
};

/// The result of a `start` that is refused. It converts to a request, so that the refusal is the only error.
struct refused_operation {
  template <class Request>
  operator Request() const;
};

template <class Op, bool Reads, class Forms>
struct calls_of;

/// A base of an operator that refuses, with a sentence, every call that no overload takes. A requires-expression with
/// such a call is the same error; the concepts of buffer.hpp are for such questions.
/// @tparam Reads the first argument is read, which tells send from recv
template <class Op, bool Reads, class... Forms>
struct calls_of<Op, Reads, form<Forms...>> {
  template <class... Arguments>
    requires(!(call_of<calling::now, Forms, Arguments...>::is_accepted || ...))
  auto operator()(Arguments&&...) {
    static_cast<void>(sizeof(refusal_of<calling::now, Arguments...>));
  }
  template <class... Arguments>
    requires(!(call_of<calling::later, Forms, Arguments...>::is_accepted || ...))
  auto start(Arguments&&...) {
    static_cast<void>(sizeof(refusal_of<calling::later, Arguments...>));
    return refused_operation();
  }

  // Lists in braces, from which no type can be deduced.
  template <class... Rest>
  auto operator()(braced_list, Rest&&...) {
    static_cast<void>(sizeof(refusal_of<calling::now, braced_list, Rest...>));
  }
  template <class First, class... Rest>
  auto operator()(First&&, braced_list, Rest&&...) {
    static_cast<void>(sizeof(refusal_of<calling::now, First, braced_list, Rest...>));
  }
  template <class... Rest>
  auto start(braced_list, Rest&&...) {
    static_cast<void>(sizeof(refusal_of<calling::later, braced_list, Rest...>));
    return refused_operation();
  }
  template <class First, class... Rest>
  auto start(First&&, braced_list, Rest&&...) {
    static_cast<void>(sizeof(refusal_of<calling::later, First, braced_list, Rest...>));
    return refused_operation();
  }

 private:
  template <calling Time, class... Arguments>
  using refusal_of = refusal<Op, Reads, Time, form<Forms...>, Arguments...>;
};

// The operators and their calls.

/// Calls of reductions: in place, if contributions have the result's type, and out of place. `Rest` follows in both.
template <class Op, class Reduction, class... Rest>
using combining_calls = calls_of<
    Op, true,
    std::conditional_t<contributes_elements<Reduction>,
                       form<form<writes<typename Reduction::value_type>, Rest...>,
                            form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>, Rest...>>,
                       form<form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>, Rest...>>>>;
template <class Reduction>
using allreduce_calls = combining_calls<op::allreduce, Reduction>;
template <class Reduction>
using reduce_calls = combining_calls<op::reduce, Reduction, rank_argument>;
template <class Reduction>
using scan_calls = combining_calls<op::scan, Reduction>;
template <class Reduction>
using exscan_calls = combining_calls<op::exscan, Reduction>;
template <class Reduction>
using reduce_scatter_calls = calls_of<
    op::reduce_scatter, true,
    std::conditional_t<
        contributes_elements<Reduction>,
        form<form<writes<typename Reduction::value_type>>,
             form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>>,
             form<writes<typename Reduction::value_type>, partition_argument>,
             form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>, partition_argument>>,
        form<form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>>,
             form<reads<contribution_t<Reduction>>, writes<typename Reduction::value_type>, partition_argument>>>>;
using broadcast_calls = calls_of<
    op::broadcast, false,
    form<form<writes<open_element>, rank_argument>, form<writes_at, total_argument, type_argument, rank_argument>>>;
using allgather_calls =
    calls_of<op::allgather, true,
             form<form<writes<open_element>>, form<reads<same_element>, writes<open_element>>,
                  form<writes<open_element>, partition_argument>,
                  form<reads<same_element>, writes<open_element>, partition_argument>,
                  form<writes_at, total_argument, type_argument>, form<writes_at, partition_argument, type_argument>,
                  form<reads_at, writes_at, total_argument, type_argument>,
                  form<reads_at, writes_at, partition_argument, type_argument>>>;
using gather_calls = calls_of<op::gather, true,
                              form<form<reads<same_element>, writes<open_element>, rank_argument>,
                                   form<reads<same_element>, writes<open_element>, rank_argument, total_argument>,
                                   form<reads<same_element>, writes<open_element>, rank_argument, partition_argument>,
                                   form<reads_at, writes_at, total_argument, type_argument, rank_argument>,
                                   form<reads_at, writes_at, partition_argument, type_argument, rank_argument>>>;
using scatter_calls = calls_of<op::scatter, true,
                               form<form<reads<open_element>, writes<same_element>, rank_argument>,
                                    form<reads<open_element>, writes<same_element>, rank_argument, total_argument>,
                                    form<reads<open_element>, writes<same_element>, rank_argument, partition_argument>,
                                    form<reads_at, writes_at, total_argument, type_argument, rank_argument>,
                                    form<reads_at, writes_at, partition_argument, type_argument, rank_argument>>>;
using alltoall_calls =
    calls_of<op::alltoall, true,
             form<form<reads<open_element>, writes<same_element>>,
                  form<reads<open_element>, writes<same_element>, partition_argument, partition_argument>,
                  form<reads_at, writes_at, total_argument, type_argument>,
                  form<reads_at, writes_at, partition_argument, partition_argument, type_argument>>>;
using barrier_calls = calls_of<meeting, false, form<form<>>>;
using send_calls = calls_of<op::transfer, true,
                            form<form<reads<open_element>, rank_argument>, form<sent_container, rank_argument>,
                                 form<reads_at, total_argument, type_argument, rank_argument>>>;
using recv_calls = calls_of<op::transfer, false,
                            form<form<writes<open_element>, rank_argument>, form<received_container, rank_argument>,
                                 form<writes_at, total_argument, type_argument, rank_argument>>>;

}  // namespace tutti::detail::collective
