// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/extend/operation.hpp>

#include <boost/test/unit_test.hpp>

#include <set>

namespace {

using tutti::call;
using tutti::operation_kind;

constexpr call base = [] {
  call c = tutti::make_call(operation_kind::allreduce, "float32", "sum", "ring");
  c.count = 1000;
  return c;
}();

template <class Change>
constexpr std::uint32_t fingerprint_after(Change change) {
  call c = base;
  change(c);
  return c.fingerprint();
}

BOOST_AUTO_TEST_CASE(equal_calls_have_equal_fingerprints) {
  call twin = tutti::make_call(operation_kind::allreduce, "float32", "sum", "ring");
  twin.count = 1000;
  BOOST_TEST(twin.fingerprint() == base.fingerprint());
}

BOOST_AUTO_TEST_CASE(each_field_is_in_the_fingerprint) {
  std::multiset<std::uint32_t> const prints{
      base.fingerprint(),
      fingerprint_after([](call& c) { c.count = 1001; }),
      fingerprint_after([](call& c) { c.count = 0; }),
      fingerprint_after([](call& c) { c.count += std::uint64_t{1} << 32; }),
      fingerprint_after([](call& c) { c.root = 0; }),
      fingerprint_after([](call& c) { c.root = 1; }),
      fingerprint_after([](call& c) { c.kind = operation_kind::reduce; }),
      fingerprint_after([](call& c) { c = tutti::make_call(c.kind, "float64", "sum", "ring"), c.count = 1000; }),
      fingerprint_after([](call& c) { c = tutti::make_call(c.kind, "float32", "max", "ring"), c.count = 1000; }),
      fingerprint_after([](call& c) { c = tutti::make_call(c.kind, "float32", "sum", "chain"), c.count = 1000; }),
  };
  for (std::uint32_t const print : prints) {
    BOOST_TEST(prints.count(print) == 1U);
  }
}

BOOST_AUTO_TEST_CASE(neighbouring_counts_roots_and_kinds_do_not_collide) {
  std::set<std::uint32_t> prints;
  std::size_t calls = 0;
  for (std::uint64_t count = 0; count < 64; ++count) {
    for (std::uint32_t root = 0; root < 16; ++root) {
      for (auto kind : {operation_kind::reduce, operation_kind::broadcast, operation_kind::gather}) {
        prints.insert(fingerprint_after([&](call& c) { c.count = count, c.root = root, c.kind = kind; }));
        ++calls;
      }
    }
  }
  BOOST_TEST(prints.size() == calls);
}

BOOST_AUTO_TEST_CASE(long_names_are_told_apart_beyond_what_is_kept_of_them) {
  call const a = tutti::make_call(operation_kind::allreduce, "my::namespaced::element_a", "sum", "ring");
  call const b = tutti::make_call(operation_kind::allreduce, "my::namespaced::element_b", "sum", "ring");
  BOOST_TEST(std::string_view(a.element) == std::string_view(b.element));
  BOOST_TEST(a.fingerprint() != b.fingerprint());
  // Names do not run into each other.
  BOOST_TEST(tutti::make_call(operation_kind::allreduce, "ab", "c", "").identity !=
             tutti::make_call(operation_kind::allreduce, "a", "bc", "").identity);
}

BOOST_AUTO_TEST_CASE(a_call_describes_itself) {
  BOOST_TEST(tutti::describe(base) == "allreduce(sum float32 x 1000, ring)");

  call share = tutti::make_call(operation_kind::broadcast, "float32", "", "binary_tree");
  share.count = 10;
  share.root = 3;
  BOOST_TEST(tutti::describe(share) == "broadcast(float32 x 10, root 3, binary_tree)");

  share.partition = 0x9f3;
  BOOST_TEST(tutti::describe(share) == "broadcast(float32 x 10 in partition 09f3, root 3, binary_tree)");

  BOOST_TEST(tutti::describe(call{}) == "nothing");
  BOOST_TEST(tutti::describe(tutti::make_call(operation_kind::barrier, "", "", "doubling")) == "barrier(doubling)");

  call const gather = tutti::make_call(operation_kind::gather, "0123456789abcdef", "", "");
  BOOST_TEST(tutti::describe(gather) == "gather(0123456789 x 0)");
}

BOOST_AUTO_TEST_CASE(a_description_stays_inside_names_from_the_wire) {
  call garbage = base;
  std::memset(garbage.element, 'x', call::element_text);  // no terminating zero
  std::memset(garbage.topology, 'y', call::text);
  BOOST_TEST(tutti::describe(garbage) == "allreduce(sum xxxxxxxxxxx x 1000, yyyyyyyyyyyyy)");
}

BOOST_AUTO_TEST_CASE(every_operation_has_a_name) {
  std::set<std::string_view> names;
  for (int k = 0; k <= static_cast<int>(operation_kind::split); ++k) {
    names.insert(tutti::name(static_cast<operation_kind>(k)));
  }
  BOOST_TEST(names.size() == static_cast<std::size_t>(operation_kind::split) + 1);
  BOOST_TEST(names.count("") == 0U);
}

}  // namespace
