// SPDX-License-Identifier: Apache-2.0
//
// The variables and files that a launcher or a user gives to a rank. The first byte picks a reader.
#include "fuzz.hpp"
#include "memory_file.hpp"
#include "numeric_hosts.hpp"
#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/detail/bootstrap/hosts.hpp>
#include <tutti/detail/bootstrap/node_list.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/fpga_nic/networks.hpp>
#include <tutti/in_network/detail/multicast/networks.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tutti::detail;

/// Calls `read`, which may throw only errors of kind `join`.
template <class Read>
void expect_join_errors(Read const& read) {
  try {
    read();
  } catch (tutti::error const& e) {
    fuzz::expect(e.kind() == tutti::failure::join, "the kind of an error is join");
  }
}

void read_variables(fuzz::input words) {
  std::string const host(words.text());
  std::string text(words.rest());
  if (text.find("file:/") != text.npos) {
    return;  // names a file of this host
  }
  std::vector<char const*> variables;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = (std::min)(text.find('\n', begin), text.size() - 1);
    text[end] = '\0';
    variables.push_back(text.data() + begin);
    begin = end + 1;
  }
  variables.push_back(nullptr);
  expect_join_errors([&] {
    tutti::environment const e = read_environment(variables.data(), 42, host);
    fuzz::expect(e.rank < e.size && e.size < 0xffffffU, "the rank is one of the world");
    fuzz::expect(e.size == 1 || !e.job.empty(), "ranks of two jobs are told apart");
    fuzz::expect(e.size == 1 || e.master.host.empty() != e.directory.empty(), "there is one place to meet");
    fuzz::expect(e.master.host.empty() || e.master.port != 0, "there is a port to meet at");
    fuzz::expect(e.patience > tutti::duration::zero(), "there is patience");
    fuzz::expect(e.local_size <= e.size && (e.local_rank == tutti::no_rank || e.local_rank < e.size),
                 "the ranks of a host are ranks of the world");
  });
}

void read_hosts(std::string_view text) {
  expect_join_errors([&] {
    host_list const list(text);
    std::string again;
    for (tutti::rank_type r = 0; r != list.size(); ++r) {
      fuzz::expect(list[r].at.port != 0 && !list[r].at.host.empty(), "each entry has an address");
      again += (list[r].role.empty() ? "" : list[r].role + "=") + net::format(list[r].at) + "\n";
    }
    host_list const copy(again);
    fuzz::expect(copy.size() == list.size(), "a list that is written is read as that list");
    for (tutti::rank_type r = 0; r != list.size(); ++r) {
      fuzz::expect(copy[r] == list[r], "an entry that is written is read as that entry");
    }
    static net::network_interface const lo{"lo", net::resolve("127.0.0.1", 0).front()};
    fuzz::expect(list.find_self({lo}) < list.size(), "this host is one of the list");
  });
}

void read_address(std::string_view text) {
  tutti::host_port at;
  if (net::parse(text, at)) {
    tutti::host_port copy;
    fuzz::expect(net::parse(net::format(at), copy) && copy == at, "an address that is written is read as that address");
  }
  expect_join_errors([&] { static_cast<void>(net::interface_address(std::string(text))); });
}

void read_devices(std::string const& text) {
  expect_join_errors([&] {
    net::address const group = multicast::group_address(text);
    fuzz::expect(static_cast<bool>(group), "a group has an address");
  });
  expect_join_errors([&] {
    std::string const identity = fpga_nic::udp_network::identity_of(text);
    fuzz::expect(!identity.empty(), "a device has an identity");
  });
}

void read_key(std::string_view text) {
  fuzz::memory_file const file(text);
  expect_join_errors([&] {
    udp::secret_key const key = udp::read_key(file.path());
    fuzz::expect(text.size() >= 2 * key.size(), "each byte of a key is in its file");
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 18) + 64 * size);
  fuzz::input words(data, size);
  switch (words.choice(6)) {
    case 0:
      read_variables(words);
      break;
    case 1:
      read_hosts(words.rest());
      break;
    case 2:
      if (auto const node = first_node(words.rest())) {
        fuzz::expect(!node->empty(), "a node has a name");
      }
      break;
    case 3:
      read_address(words.rest());
      break;
    case 4:
      read_devices(std::string(words.rest()));
      break;
    default:
      read_key(words.rest());
  }
  return 0;
}
