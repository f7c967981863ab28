// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <laws/complaints.hpp>
#include <tutti/detail/bootstrap/hosts.hpp>
#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace net = tutti::detail::net;
using laws::has;
using tutti::member;
using tutti::detail::host_list;

namespace {

std::string complaint(std::string const& text, std::string const& source = "hosts.txt") {
  try {
    host_list const hosts(text, source);
    return {};
  } catch (tutti::error const& e) {
    return e.what();
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_list_gives_ranks_in_its_order) {
  host_list const hosts("ps:0=node0:7000, worker:3=node1:7001,[::1]:7002");
  BOOST_TEST(hosts.size() == 3U);
  BOOST_TEST((hosts[0] == tutti::detail::host_entry{"ps:0", {"node0", 7000}}));
  BOOST_TEST((hosts[1] == tutti::detail::host_entry{"worker:3", {"node1", 7001}}));
  BOOST_TEST((hosts[2] == tutti::detail::host_entry{"", {"::1", 7002}}));
  BOOST_TEST(net::format(hosts.master()) == "node0:7000");
}

BOOST_AUTO_TEST_CASE(lines_comments_and_blanks_separate_too) {
  host_list const hosts("# our cluster\n\n a:1 # the first, and b:2\r\n\tc:3,d:4,\n#e:5\nworker:0 = g:7\n");
  BOOST_TEST(hosts.size() == 4U);
  BOOST_TEST(net::format(hosts[0].at) == "a:1");
  BOOST_TEST(net::format(hosts[2].at) == "d:4");
  BOOST_TEST((hosts[3] == tutti::detail::host_entry{"worker:0", {"g", 7}}));
}

BOOST_AUTO_TEST_CASE(a_wrong_entry_is_named_by_line_and_number) {
  BOOST_TEST(has(complaint("a:1\nb:2,c"), "hosts.txt, line 2, entry 3 'c': not host:port"));
  BOOST_TEST(has(complaint("a:0"), "entry 1 'a:0': not host:port"));
  BOOST_TEST(has(complaint("worker=a:1"), "'worker' is not a role"));
  BOOST_TEST(has(complaint("worker:x=a:1"), "'worker:x' is not a role"));
  BOOST_TEST(has(complaint(":1=a:1"), "':1' is not a role"));
  BOOST_TEST(has(complaint("a:1,b:2,a:1"), "entry 3 'a:1': the same address is in the list already; name each once"));
  BOOST_TEST(has(complaint("w:0=a:1,w:0=b:1"), "entry 2 'w:0=b:1': the same role"));
  BOOST_TEST(has(complaint("# no host\n"), "hosts.txt names no host"));
}

BOOST_AUTO_TEST_CASE(the_own_rank_is_found_by_address) {
  std::vector<net::network_interface> const interfaces{{"a", net::resolve("192.0.2.7", 0).at(0)},
                                                       {"b", net::resolve("2001:db8::7", 0).at(0)}};
  BOOST_TEST(host_list("192.0.2.6:1,192.0.2.7:1").find_self(interfaces) == 1U);
  BOOST_TEST(host_list("[2001:db8:0::7]:1,192.0.2.6:1").find_self(interfaces) == 0U);
  auto const says = [](std::string const& word) {
    return [word](tutti::error const& e) { return has(e.what(), word) && has(e.what(), "set TUTTI_RANK"); };
  };
  BOOST_CHECK_EXCEPTION((void)host_list("192.0.2.6:1").find_self(interfaces), tutti::error,
                        says("does not name this host (192.0.2.7, 2001:db8::7)"));
  BOOST_CHECK_EXCEPTION((void)host_list("192.0.2.7:1,192.0.2.6:1,192.0.2.7:2").find_self(interfaces), tutti::error,
                        says("more than once (entry 1, entry 3)"));
}

BOOST_AUTO_TEST_CASE(a_list_is_read_from_a_file) {
  char path[] = "/tmp/tutti-test-hosts-XXXXXX";
  tutti::detail::descriptor const f([&] { return ::mkstemp(path); });
  std::string const text = "ps:0=a:1\n# none\nworker:0=b:2\n";
  BOOST_REQUIRE(::write(f.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  auto const hosts = tutti::detail::read_hosts(path);
  BOOST_TEST(hosts.size() == 2U);
  BOOST_TEST(hosts[1].role == "worker:0");
  ::unlink(path);
  BOOST_CHECK_THROW((void)tutti::detail::read_hosts(path), tutti::error);
}

BOOST_AUTO_TEST_CASE(a_member_survives_being_text) {
  for (member const& m : {member{"node7", 4242, ""}, member{"node7", 0, "worker:3"}, member{"h", 1, "a b"}}) {
    member back;
    BOOST_TEST(tutti::detail::decode(tutti::detail::encode(m), back));
    BOOST_TEST((back == m));
  }
  for (char const* bad :
       {"", "node7", "node7 12", " 1 r", "node7 x r", "node7 -1 r", "node7 1x r", "node7 99999999999999999999 r"}) {
    member back;
    BOOST_TEST(!tutti::detail::decode(bad, back), bad);
  }
  BOOST_TEST(tutti::describe(2, member{"node7", 4242, "worker:3"}) == "rank 2 (worker:3 on node7, pid 4242)");
  BOOST_TEST(tutti::describe(2, member{"node7", 4242, ""}) == "rank 2 (node7, pid 4242)");
  BOOST_TEST(tutti::this_member().pid == ::getpid());
}

BOOST_AUTO_TEST_CASE(times_and_ranks_read_well) {
  using namespace std::chrono_literals;
  BOOST_TEST(tutti::detail::seconds_text(30s) == "30 s");
  BOOST_TEST(tutti::detail::seconds_text(100s) == "100 s");
  BOOST_TEST(tutti::detail::seconds_text(250ms) == "0.25 s");
  BOOST_TEST(tutti::detail::list_ranks(std::vector<tutti::rank_type>{2}) == "rank 2");
  BOOST_TEST(tutti::detail::list_ranks(std::vector<tutti::rank_type>{2, 5}) == "ranks 2 and 5");
  BOOST_TEST(tutti::detail::list_ranks(std::vector<tutti::rank_type>{1, 2, 5}) == "ranks 1, 2 and 5");
  BOOST_TEST(tutti::detail::list_ranks(std::vector<tutti::rank_type>(20, 1)).ends_with(", 1 and 4 more"));
}
