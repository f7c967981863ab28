// SPDX-License-Identifier: Apache-2.0
// test: address (ranks are processes)
#include <support/process_ranks.hpp>
#include <support/traffic.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>

/// A message that goes to several peers is copied once, and its copy kept until the last of them has released it.
namespace {

using namespace tutti;
using namespace tutti::detail;
using support::drive_until;
using support::verdict;

constexpr std::size_t chunk_bytes = 4096;
constexpr flow only_flow{0, 0};

[[nodiscard]] bool holds(chunk const& c, std::uint64_t seed) {
  for (std::size_t i = 0; i < c.bytes; ++i) {
    if (c.data[i] != support::pattern(seed, i)) {
      return false;
    }
  }
  return c.bytes == chunk_bytes;
}

/// Waits for the next message and checks it.
verdict check_next(tutti::shared_memory& t, std::uint64_t seed) {
  chunk c;
  verdict const bad = drive_until(t, [&] {
    return static_cast<bool>(c = t.view(0, only_flow, {chunk_bytes, 1, nullptr}));
  });
  return !bad.empty() ? bad : holds(c, seed) ? "" : "message " + std::to_string(seed) + " is spoiled";
}

/// Runs rank 0, whose ring holds one chunk, as does each lane.
template <class Meet>
verdict run_sender(tutti::shared_memory& t, Meet& meet) {
  std::vector<std::byte> data(chunk_bytes);
  auto const send = [&](rank_type peer, std::uint64_t seed, bool repeats_last) {
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = support::pattern(seed, i);
    }
    t.next_message(only_flow, repeats_last);
    bool const is_accepted = t.send(peer, only_flow, data, 1).bytes == data.size();
    std::fill(data.begin(), data.end(), std::byte{0xee});
    return is_accepted;
  };
  verdict bad;
  for (rank_type peer = 1; peer < t.size(); ++peer) {
    bad = send(peer, 1, peer != 1) ? bad : "one message takes more than one chunk";
  }
  meet.exchange("all have it");
  meet.exchange("all but one have released it");
  bad = send(1, 2, false) ? bad : "the chunk of the lane is not used";
  bad = send(1, 3, false) ? "a chunk was given away that is being read" : bad;
  meet.exchange("more was sent");
  meet.exchange("the last one has released it");
  bad = send(1, 3, false) ? bad : "the chunk is not used again";
  meet.exchange("there is more");
  return bad;
}

template <class Meet>
verdict run_reader(tutti::shared_memory& t, Meet& meet, bool last) {
  verdict bad = check_next(t, 1);
  meet.exchange("all have it");
  if (!last) {
    t.release(0, only_flow);
  }
  meet.exchange("all but one have released it");
  meet.exchange("more was sent");
  if (last) {
    bad = bad.empty() ? check_next(t, 1) : bad;
    t.release(0, only_flow);
  }
  meet.exchange("the last one has released it");
  meet.exchange("there is more");
  for (std::uint64_t seed = 2; t.rank() == 1 && seed <= 3; ++seed) {
    bad = bad.empty() ? check_next(t, seed) : bad;
    t.release(0, only_flow);
  }
  return bad;
}

BOOST_AUTO_TEST_CASE(one_copy_serves_all_its_readers) {
  for (rank_type last = 1; last < 5; ++last) {
    for (auto const& v : support::process_ranks::run(5, [&](auto& meet) -> verdict {
           tutti::shared_memory t(meet, {.chunk_bytes = chunk_bytes, .ring_bytes = chunk_bytes});
           t.begin(only_flow, make_call(operation_kind::broadcast, "int32", "", "star"));
           verdict const bad = t.rank() == 0 ? run_sender(t, meet) : run_reader(t, meet, t.rank() == last);
           meet.exchange("done");
           return bad;
         })) {
      BOOST_TEST(v == "", "last is rank " << last << ": " << v);
    }
  }
}

}  // namespace
