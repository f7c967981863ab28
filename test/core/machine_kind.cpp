// SPDX-License-Identifier: Apache-2.0
// test: plain (texts)
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/core_set.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/element.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace {

using tutti::rank_type;

constexpr tutti::detail::transport_calls quiet{
    .name = "quiet", .fault = [](void*) { return tutti::fault{}; }, .poll = [](void*) {}};

/// The error of rank `me` in a world of two in which rank 1 introduces itself with this processor; empty if none.
[[nodiscard]] std::string refusal(rank_type me, std::string const& kind_of_rank_1) {
  std::string const usual = tutti::detail::introduction("world", "");
  std::string other = usual;
  std::string_view const kind = tutti::detail::machine_kind();
  other.replace(other.find(kind), kind.size(), kind_of_rank_1);
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
  std::string const kind(tutti::detail::machine_kind());
  BOOST_TEST(refusal(0, kind) == "");
  for (rank_type const me : {0U, 1U}) {
    std::string const text = refusal(me, "64-bit big-endian");
    std::string const process = "(" + tutti::describe(tutti::this_member()) + ")";
    BOOST_TEST(text.find("rank 1 " + process + " is a 64-bit big-endian process, and rank 0 " + process + " a " + kind +
                         " one") != text.npos,
               text);
    BOOST_TEST(refusal(me, "") != "");
  }
}

BOOST_AUTO_TEST_CASE(sets_of_cores_are_texts) {
  for (std::string const text : {"0", "63", "64", "0-63", "1,3,5-7", "0-1,62-66,1023"}) {
    tutti::detail::core_set set;
    BOOST_TEST(set.add(text));
    BOOST_TEST(set.text() == text);
  }
  tutti::detail::core_set cores;
  BOOST_TEST(cores.add("0-2"));
  BOOST_TEST(cores.add("2-5,9"));
  BOOST_TEST(cores.text() == "0-5,9");
  for (std::string const text :
       {"", "-", "1-", "2-1", "1,", ",1", "a", "1 2", "99999999999999999999", "0-99999999", "1,1", "3,2", "0-5,5"}) {
    BOOST_TEST(!tutti::detail::core_set().add(text), text);
  }
  BOOST_TEST(tutti::detail::core_set().add(tutti::detail::core_set::of_thread().text()));
}

/// Ranks pinned to cores of their own may spin; two ranks pinned to one core are oversubscribed.
BOOST_AUTO_TEST_CASE(a_host_is_as_large_as_the_cores_of_its_ranks) {
  auto const is_oversubscribed = [](std::string const& first, std::string const& second, bool one_host) {
    std::string const usual = tutti::detail::introduction("world", "");
    std::string const own_cores = '\n' + tutti::detail::core_set::of_thread().text() + '\n';
    auto const introduction_with = [&](std::string const& cores) {
      std::string text = usual;
      return text.replace(text.find(own_cores), own_cores.size(), '\n' + cores + '\n');
    };
    std::string other = introduction_with(second);
    if (!one_host) {
      tutti::member remote = tutti::this_member("");
      std::size_t const length = tutti::detail::encode(remote).size();
      remote.host = "another";
      other.replace(other.size() - length, length, tutti::detail::encode(remote));
    }
    return tutti::detail::rank_state(tutti::detail::any_transport(nullptr, quiet), {}, 0, {},
                                     {introduction_with(first), other})
        .is_oversubscribed;
  };
  bool const has_two = tutti::detail::cores_of_groups("/proc/self/cgroup", "/sys/fs/cgroup") >= 2;
  BOOST_TEST(is_oversubscribed("0", "0", true));
  BOOST_TEST(!is_oversubscribed("0", "0", false));
  BOOST_TEST(is_oversubscribed("0", "1", true) == !has_two);
  BOOST_TEST(is_oversubscribed("0-7", "0-7", true) == !has_two);
}

/// Equal names on two machines imply equal formats.
BOOST_AUTO_TEST_CASE(names_of_long_double) {
  constexpr int digits = std::numeric_limits<long double>::digits;
  BOOST_TEST(tutti::element_name<long double>() == (digits == 64    ? "float80"
                                                    : digits == 113 ? "float128"
                                                                    : "long double"));
}

}  // namespace
