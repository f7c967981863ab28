// SPDX-License-Identifier: Apache-2.0
// test: plain (texts)
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/machine_kind.hpp>
#include <tutti/element.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tutti::rank_type;

/// What rank `me` says of a world of two, of which rank 1's processor is as its introduction says.
[[nodiscard]] std::string refusal(rank_type me, std::string const& kind_of_rank_1) {
  std::string const usual = tutti::detail::introduction("world", "");
  std::string other = usual;
  std::string_view const kind = tutti::detail::machine_kind();
  other.replace(other.find(kind), kind.size(), kind_of_rank_1);
  static constexpr tutti::detail::transport_calls quiet{
      .name = "quiet", .fault = [](void*) { return tutti::fault{}; }, .poll = [](void*) {}};
  try {
    tutti::detail::rank_state const world(tutti::detail::any_transport(nullptr, quiet), {}, me, {}, {usual, other});
    BOOST_TEST(world.name == "world");
    BOOST_TEST((world.members[1] == tutti::this_member()));
    return "";
  } catch (tutti::error const& e) {
    BOOST_TEST((e.kind() == tutti::failure::join));
    BOOST_TEST(e.self() == me);
    BOOST_TEST(e.at_fault() == std::vector<rank_type>{1}, boost::test_tools::per_element());
    return e.what();
  }
}

BOOST_AUTO_TEST_CASE(both_sides_name_both_machines) {
  std::string const here(tutti::detail::machine_kind());
  BOOST_TEST(refusal(0, here) == "");
  for (rank_type const me : {0U, 1U}) {
    std::string const said = refusal(me, "64-bit big-endian");
    std::string const process = "(" + tutti::describe(tutti::this_member()) + ")";
    BOOST_TEST(said.find("rank 1 " + process + " is a 64-bit big-endian process, and rank 0 " + process + " a " + here +
                         " one") != said.npos,
               said);
    BOOST_TEST(refusal(me, "") != "");
  }
}

/// A name is the same on two machines only if the numbers are.
BOOST_AUTO_TEST_CASE(names_of_long_double) {
  constexpr int digits = std::numeric_limits<long double>::digits;
  BOOST_TEST(tutti::element_name<long double>() == (digits == 64    ? "float80"
                                                    : digits == 113 ? "float128"
                                                                    : "long double"));
}

}  // namespace
