// SPDX-License-Identifier: Apache-2.0
// test: address
#include <in_network/fpga_nic/packets.hpp>
#include <tutti/in_network/detail/fpga_nic/rack_layout.hpp>
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

namespace nic = tutti::detail::fpga_nic;
using namespace packets;
using nic::outcome;
using tutti::network_operation;

namespace {

BOOST_AUTO_TEST_SUITE(protocol)

BOOST_AUTO_TEST_CASE(the_header_lies_in_22_bytes_as_the_page_says) {
  nic::header const h{nic::kind::supply,
                      network_operation::max_float32,
                      0x04030201,
                      0x08070605,
                      0x0c0b0a09,
                      0x0e0d,
                      0x0004,
                      0x11,
                      0x12,
                      0x0016};
  std::byte bytes[nic::header_bytes];
  tutti::detail::udp::write(h, bytes);
  std::vector<unsigned> values;
  for (std::byte const b : bytes) {
    values.push_back(static_cast<unsigned>(b));
  }
  std::vector<unsigned> const expected{0x19, 3,  1,  2,  3,  4, 5, 6,    7,    8,    9,
                                       10,   11, 12, 13, 14, 4, 0, 0x11, 0x12, 0x16, 0};
  BOOST_TEST(values == expected, boost::test_tools::per_element());
}

/// One header of each kind.
std::vector<nic::header> all_kinds() {
  std::vector<nic::header> headers;
  for (auto const& [kind, length] : std::initializer_list<std::pair<nic::kind, int>>{{nic::kind::join, 6},
                                                                                     {nic::kind::grant, 6},
                                                                                     {nic::kind::leave, 0},
                                                                                     {nic::kind::end, 0},
                                                                                     {nic::kind::contribute, 1024},
                                                                                     {nic::kind::contribute, 0},
                                                                                     {nic::kind::result, 8},
                                                                                     {nic::kind::query, 0},
                                                                                     {nic::kind::missing, 2},
                                                                                     {nic::kind::missing, 0},
                                                                                     {nic::kind::supply, 4},
                                                                                     {nic::kind::refuse, 1}}) {
    nic::header h = contribution(3, 9, 7, static_cast<std::size_t>(length));
    h.kind = kind;
    headers.push_back(h);
  }
  headers.push_back(contribution(3, 9, 7, nic::block_bytes + nic::update_terms::bytes, network_operation::update));
  for (auto const& [kind, length] :
       {std::pair{nic::kind::supply, 1024}, {nic::kind::query, 0}, {nic::kind::result, 1024}, {nic::kind::result, 0}}) {
    headers.push_back(weights_header(kind, 5, 6, static_cast<std::size_t>(length)));
  }
  return headers;
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read) {
  for (nic::seal const& seal : {nic::seal(), nic::seal(nic::secret_key{std::byte{1}})}) {
    for (nic::header h : all_kinds()) {
      std::vector<std::byte> const payload(h.length, std::byte{5});
      auto const bytes = serialize(h, payload, seal);
      nic::packet p;
      BOOST_TEST_REQUIRE((seal.read(bytes, p) == nic::reading::good));
      p.head.flags = static_cast<std::uint16_t>(p.head.flags & ~nic::flag::tag);
      BOOST_TEST((p.head == h));
      BOOST_TEST(std::ranges::equal(p.payload, payload));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_cut_or_longer_is_malformed) {
  for (nic::header const& h : all_kinds()) {
    auto bytes = serialize(h, std::vector<std::byte>(h.length));
    nic::packet p;
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      BOOST_TEST(!nic::parse(std::span(bytes).first(n), p));
    }
    bytes.push_back({});
    BOOST_TEST(!nic::parse(bytes, p));
  }
}

BOOST_AUTO_TEST_CASE(a_header_that_says_what_cannot_be_is_malformed) {
  auto const good = serialize(contribution(3, 9, 7, 8), std::vector<std::byte>(8));
  struct change {
    std::size_t position;
    unsigned value;
  };
  // Wrong version, kind 0, kind 11, 6 bytes of floats, a worker beyond the last, no workers, an unknown flag.
  for (change const c : {change{0, 0x25}, {0, 0x10}, {0, 0x1b}, {16, 6}, {18, 9}, {19, 0}, {20, 0x20}, {21, 1}}) {
    auto bytes = good;
    bytes[c.position] = static_cast<std::byte>(c.value);
    bytes.resize(nic::header_bytes + static_cast<std::size_t>(bytes[16]));
    nic::packet p;
    BOOST_TEST(!nic::parse(bytes, p), "byte " << c.position << " is " << c.value);
  }
  nic::packet p;
  BOOST_TEST(!nic::parse(serialize(contribution(0, 1, 0, 1028), std::vector<std::byte>(1028)), p));
  // Updates with a partial block, or without terms; half a block of weights; keyed packets of kinds that concern
  // neither slots nor weights.
  std::vector<nic::header> headers;
  for (std::size_t const length : {0U, 16U, 1024U, 1036U}) {
    headers.push_back(contribution(0, 1, 0, length, network_operation::update));
  }
  for (auto const& [kind, length] : {std::pair{nic::kind::supply, 512},
                                     {nic::kind::result, 512},
                                     {nic::kind::contribute, 1024},
                                     {nic::kind::missing, 0},
                                     {nic::kind::leave, 0}}) {
    headers.push_back(weights_header(kind, 0, 0, static_cast<std::size_t>(length)));
  }
  for (nic::header const& h : headers) {
    BOOST_TEST(!nic::parse(serialize(h, std::vector<std::byte>(h.length)), p), "length " << h.length);
  }
}

BOOST_AUTO_TEST_CASE(siphash_gives_what_its_authors_print) {
  nic::secret_key k;
  std::vector<std::byte> message(15);
  std::ranges::generate(k, [i = 0]() mutable { return static_cast<std::byte>(i++); });
  std::ranges::generate(message, [i = 0]() mutable { return static_cast<std::byte>(i++); });
  BOOST_TEST(nic::siphash(k, message) == 0xa129ca6149be45e5U);
  BOOST_TEST(nic::siphash(k, {}) == 0x726fdb47dd0e0e31U);
}

BOOST_AUTO_TEST_CASE(a_seal_reads_nothing_that_another_key_or_none_has_written) {
  nic::seal const none;
  nic::seal const seal_1(nic::secret_key{std::byte{1}});
  nic::seal const seal_2(nic::secret_key{std::byte{2}});
  std::vector<std::byte> const payload(16);
  auto const h = contribution(0, 2, 0, 16);
  nic::packet p;
  for (auto const* writer : {&none, &seal_1, &seal_2}) {
    auto const bytes = serialize(h, payload, *writer);
    for (auto const* reader : {&none, &seal_1, &seal_2}) {
      BOOST_TEST((reader->read(bytes, p) == (writer == reader ? nic::reading::good : nic::reading::invalid_tag)));
    }
  }
  auto const good = serialize(h, payload, seal_1);
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << bit % 8);
    BOOST_TEST((seal_1.read(bytes, p) != nic::reading::good), "bit " << bit << " changed");
  }
}

BOOST_AUTO_TEST_CASE(worker_sets_are_bitmaps) {
  nic::worker_set s;
  std::vector<unsigned> const workers{0, 7, 8, 63, 64, 200, 254};
  for (unsigned const w : workers) {
    s.add(w);
  }
  std::vector<unsigned> members;
  s.for_each([&](unsigned w) { members.push_back(w); });
  BOOST_TEST(members == workers, boost::test_tools::per_element());
  std::vector<std::byte> bytes(nic::bitmap_bytes(255));
  s.write(bytes);
  BOOST_TEST((nic::worker_set::read(bytes, 255) == s));
  BOOST_TEST(!nic::worker_set::read(bytes, 254).has(254));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(combining)

constexpr std::size_t elements = 65;  // more than one block of the kernels, with a remainder

struct sum {
  static constexpr auto operation = network_operation::sum_float32;
  using reduction = tutti::sum<float>;
};
struct max {
  static constexpr auto operation = network_operation::max_float32;
  using reduction = tutti::max<float>;
};
struct saturating {
  static constexpr auto operation = network_operation::saturating_sum_int32;
  using reduction = tutti::saturating_sum<std::int32_t>;
};
using operations = std::tuple<sum, max, saturating>;

/// Elements with all special values of their type.
template <class T>
std::vector<T> draw_elements(std::mt19937& random) {
  using limits = std::numeric_limits<T>;
  std::vector<T> corners{T(0), T(1), T(-1), limits::max(), limits::lowest()};
  if constexpr (std::floating_point<T>) {
    corners.insert(corners.end(), {-T(0), T(0.1F), limits::infinity(), -limits::infinity(), limits::denorm_min(),
                                   limits::quiet_NaN(), std::bit_cast<T>(0xffc01234U)});
  }
  std::vector<T> x(elements);
  for (T& e : x) {
    e = random() % 4 == 0 ? corners[random() % corners.size()]
                          : static_cast<T>(static_cast<int>(random() % 2000) - 1000);
  }
  return x;
}

/// Folds contributions in this order.
template <class R>
std::vector<typename R::value_type> fold(std::vector<std::vector<typename R::value_type>> const& contributions,
                                         std::vector<unsigned> const& order) {
  auto acc = contributions[order[0]];
  for (std::size_t i = 0; i < acc.size(); ++i) {
    for (std::size_t w = 1; w < order.size(); ++w) {
      acc[i] = R::combine(acc[i], contributions[order[w]][i]);
    }
    acc[i] = R::lower(acc[i], static_cast<tutti::rank_type>(order.size()));
  }
  return acc;
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_result_has_the_bits_of_the_fold, Operation, operations) {
  using R = typename Operation::reduction;
  using T = typename R::value_type;
  std::mt19937 random(1);
  nic::slot_table slots(2, 8);
  std::uint32_t sequence = 0;
  for (unsigned const workers : {1U, 2U, 3U, 5U, 8U, 9U, 64U, 255U}) {
    for (bool const in_rank_order : {false, true}) {
      if (in_rank_order && workers > nic::max_workers_in_order) {
        continue;
      }
      std::vector<std::vector<T>> contributions;
      std::vector<unsigned> ranks(workers);
      std::iota(ranks.begin(), ranks.end(), 0U);
      for (unsigned w = 0; w < workers; ++w) {
        contributions.push_back(draw_elements<T>(random));
      }
      auto arrival = ranks;
      std::ranges::shuffle(arrival, random);
      nic::header h = contribution(0, workers, sequence++, elements * sizeof(T), Operation::operation);
      h.flags = in_rank_order ? nic::flag::in_rank_order : 0;
      for (unsigned const w : arrival) {
        h.worker = static_cast<std::uint8_t>(w);
        auto const v = slots.contribute(h.worker, h, std::as_bytes(std::span(contributions[w])));
        BOOST_TEST((v.result == (w == arrival.back() ? outcome::complete : outcome::pending)));
      }
      auto const expected = fold<R>(contributions, in_rank_order ? ranks : arrival);
      BOOST_TEST(std::ranges::equal(slots.data(h), std::as_bytes(std::span(expected))),
                 workers << " workers" << (in_rank_order ? " in rank order" : ""));
    }
  }
}

// The stand-in for switches of racks adds in rank order within a small rack, and then rack by rack.
BOOST_AUTO_TEST_CASE_TEMPLATE(contributions_of_racks_are_added_rack_by_rack, Operation, operations) {
  using R = typename Operation::reduction;
  using T = typename R::value_type;
  std::mt19937 random(2);
  for (auto const& sizes : {std::vector{3U, 1U}, {8U, 2U, 5U}, {3U, 12U}, {9U, 9U, 1U}}) {
    std::vector<std::uint8_t> racks;
    unsigned blocks = 0;
    for (unsigned rack = 0; rack != sizes.size(); ++rack) {
      racks.insert(racks.end(), sizes[rack], static_cast<std::uint8_t>(rack));
      blocks += sizes[rack] > nic::max_workers_in_order ? 1 : sizes[rack];
    }
    std::ranges::shuffle(racks, random);
    BOOST_TEST(nic::rack_layout(racks).blocks() == blocks);
    nic::slot_table slots(1, 8, false, nic::rack_layout(racks));
    auto const workers = static_cast<unsigned>(racks.size());
    for (std::uint32_t sequence = 0; sequence != 4; ++sequence) {
      std::vector<std::vector<T>> contributions;
      std::vector<unsigned> arrival(workers);
      std::iota(arrival.begin(), arrival.end(), 0U);
      for (unsigned w = 0; w != workers; ++w) {
        contributions.push_back(draw_elements<T>(random));
      }
      std::ranges::shuffle(arrival, random);
      nic::header h = contribution(0, workers, sequence, elements * sizeof(T), Operation::operation);
      h.flags = nic::flag::in_rank_order;
      for (unsigned const w : arrival) {
        h.worker = static_cast<std::uint8_t>(w);
        auto const give = [&] {
          return slots.contribute(h.worker, h, std::as_bytes(std::span(contributions[w]))).result;
        };
        BOOST_TEST((give() == (w == arrival.back() ? outcome::complete : outcome::pending)));
        BOOST_TEST((give() == (w == arrival.back() ? outcome::available : outcome::duplicate)));
      }
      std::vector<std::vector<T>> rack_sums;
      for (unsigned rack = 0; rack != sizes.size(); ++rack) {
        std::vector<unsigned> order;
        std::ranges::copy_if(arrival, std::back_inserter(order), [&](unsigned w) { return racks[w] == rack; });
        if (sizes[rack] <= nic::max_workers_in_order) {
          std::ranges::sort(order);
        }
        rack_sums.push_back(fold<R>(contributions, order));
      }
      std::vector<unsigned> order(sizes.size());
      std::iota(order.begin(), order.end(), 0U);
      auto const expected = fold<R>(rack_sums, order);
      BOOST_TEST(std::ranges::equal(slots.data(h), std::as_bytes(std::span(expected))), workers << " workers");
    }
  }
}

BOOST_AUTO_TEST_CASE(copying_keeps_every_bit_of_the_one_that_gives) {
  nic::slot_table slots(1, 0);
  auto const data = std::as_bytes(std::span("a NaN is not made canonical\xff\xff\xff\xff"));
  for (unsigned const root : {0U, 1U, 2U}) {
    nic::header h = contribution(0, 3, root, 0, network_operation::copy);
    for (unsigned const w : {2U, 0U, 1U}) {
      h.worker = static_cast<std::uint8_t>(w);
      h.length = w == root ? static_cast<std::uint16_t>(data.size()) : std::uint16_t{0};
      std::ignore = slots.contribute(0, h, data.first(h.length));
    }
    BOOST_TEST(std::ranges::equal(slots.data(h), data));
  }
}

BOOST_AUTO_TEST_CASE(a_worker_may_have_nothing_to_give) {
  nic::slot_table slots(1, 8);
  std::vector<float> const x{-0.F, 3};
  for (auto const& [order, gives] : {std::pair{0U, 0U}, {0U, 1U}, {1U, 0U}, {1U, 1U}}) {
    nic::header h = contribution(0, 2, order * 2 + gives, 0);
    h.flags = order == 1 ? nic::flag::in_rank_order : 0;
    for (unsigned const w : {0U, 1U}) {
      h.worker = static_cast<std::uint8_t>(w);
      h.length = w == gives ? 8 : 0;
      std::ignore = slots.contribute(0, h, std::as_bytes(std::span(x)).first(h.length));
    }
    BOOST_TEST(std::ranges::equal(slots.data(h), std::as_bytes(std::span(x))));
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(sequences)

/// A worker's header, and one element.
struct submission {
  nic::header h;
  float x = 1;

  nic::verdict submit_to(nic::slot_table& s) const {
    return s.contribute(h.worker, h, std::as_bytes(std::span(&x, 1)).first(h.length));
  }
};
submission worker(unsigned w, std::uint32_t sequence, unsigned workers = 2) {
  return {contribution(w, workers, sequence, sizeof(float)), static_cast<float>(w + 1)};
}

BOOST_AUTO_TEST_CASE(a_duplicate_changes_nothing_and_is_answered_once_there_is_a_result) {
  nic::slot_table slots(1, 8);
  std::ignore = worker(0, 0).submit_to(slots);
  auto const old_slots = slots;
  BOOST_TEST((worker(0, 0).submit_to(slots).result == outcome::duplicate));
  BOOST_TEST((slots == old_slots));
  BOOST_TEST((worker(1, 0).submit_to(slots).result == outcome::complete));
  auto const complete_slots = slots;
  BOOST_TEST((worker(0, 0).submit_to(slots).result == outcome::available));
  BOOST_TEST((worker(1, 0).submit_to(slots).result == outcome::available));
  BOOST_TEST((slots == complete_slots));
}

BOOST_AUTO_TEST_CASE(a_later_sequence_replaces_what_is_complete_and_waits_for_what_is_not) {
  nic::slot_table slots(1, 8);
  std::ignore = worker(0, 5).submit_to(slots);
  auto const open_slots = slots;
  BOOST_TEST((worker(1, 6).submit_to(slots).result == outcome::busy));
  BOOST_TEST((slots == open_slots));
  std::ignore = worker(1, 5).submit_to(slots);
  BOOST_TEST((worker(1, 6).submit_to(slots).result == outcome::pending));
  auto const next_slots = slots;
  BOOST_TEST((worker(0, 5).submit_to(slots).result == outcome::late));
  BOOST_TEST((slots.query(worker(0, 5).h).result == outcome::late));
  BOOST_TEST((slots == next_slots));
}

BOOST_AUTO_TEST_CASE(a_member_that_is_ahead_does_not_keep_others_from_an_earlier_sequence) {
  nic::slot_table slots(1, 8);
  std::ignore = worker(2, 9, 3).submit_to(slots);  // no member of the later sequences
  BOOST_TEST((slots.query(worker(0, 7).h).result == outcome::pending));
  BOOST_TEST((worker(0, 7).submit_to(slots).result == outcome::pending));
  BOOST_TEST((worker(2, 9, 3).submit_to(slots).result == outcome::busy));
  BOOST_TEST((worker(1, 7).submit_to(slots).result == outcome::complete));
  BOOST_TEST((worker(2, 9, 3).submit_to(slots).result == outcome::pending));
  BOOST_TEST((worker(0, 7).submit_to(slots).result == outcome::late));
}

BOOST_AUTO_TEST_CASE(a_member_that_goes_on_has_its_result_from_elsewhere) {
  nic::slot_table slots(1, 8);
  std::ignore = worker(0, 7, 3).submit_to(slots);
  BOOST_TEST((worker(0, 9, 3).submit_to(slots).result == outcome::pending));
  BOOST_TEST((slots.at(worker(0, 9).h).has_sequence(9)));
}

BOOST_AUTO_TEST_CASE(sequences_wrap) {
  nic::slot_table slots(1, 8);
  for (std::uint32_t const q : {UINT32_MAX, 0U}) {
    BOOST_TEST((worker(0, q).submit_to(slots).result == outcome::pending));
    BOOST_TEST((worker(1, q).submit_to(slots).result == outcome::complete));
  }
  BOOST_TEST((worker(0, UINT32_MAX).submit_to(slots).result == outcome::late));
}

BOOST_AUTO_TEST_CASE(phases_and_slots_know_nothing_of_each_other) {
  nic::slot_table slots(2, 8);
  for (unsigned const w : {0U, 1U}) {
    for (auto const& [slot, phase] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      submission g = worker(w, static_cast<std::uint32_t>(slot + phase));
      g.h.slot = static_cast<std::uint16_t>(slot);
      g.h.flags = static_cast<std::uint16_t>(phase);
      g.x += static_cast<float>(10 * slot + 100 * phase);
      BOOST_TEST((g.submit_to(slots).result == (w == 0 ? outcome::pending : outcome::complete)));
      if (w == 1) {
        float sum = 0;
        std::memcpy(&sum, slots.data(g.h).data(), sizeof sum);
        BOOST_TEST(sum == static_cast<float>(3 + 20 * slot + 200 * phase));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(whoever_says_something_else_is_refused_and_changes_nothing) {
  nic::slot_table slots(1, 8);
  std::ignore = worker(1, 0, 3).submit_to(slots);
  auto const old_slots = slots;
  std::vector<submission> submissions(5, worker(2, 0, 3));
  submissions[0].h.fingerprint ^= 1;
  submissions[1].h.operation = network_operation::max_float32;
  submissions[2].h.workers = 4;
  submissions[3].h.flags |= nic::flag::in_rank_order;
  std::vector<float> const zeros(2);
  submissions[4].h.length = 8;
  for (submission const& g : submissions) {
    auto const v = slots.contribute(2, g.h, std::as_bytes(std::span(zeros)).first(g.h.length));
    BOOST_TEST((v == nic::verdict{outcome::mismatch, 1}));
    BOOST_TEST((slots == old_slots));
  }
  // Another member with the same worker number.
  BOOST_TEST((slots.contribute(7, worker(1, 0, 3).h, std::as_bytes(std::span(zeros)).first(4)) ==
              nic::verdict{outcome::mismatch, 1}));
  // Two contributions to a copy, which takes one.
  nic::header copy = contribution(0, 2, 1, 4, network_operation::copy);
  nic::slot_table copies(1, 8);
  std::ignore = copies.contribute(0, copy, std::as_bytes(std::span(zeros)).first(4));
  copy.worker = 1;
  BOOST_TEST(
      (copies.contribute(1, copy, std::as_bytes(std::span(zeros)).first(4)) == nic::verdict{outcome::mismatch, 0}));
}

BOOST_AUTO_TEST_CASE(what_is_not_done_here_is_refused_and_changes_nothing) {
  nic::slot_table slots(1, 2);
  auto const old_slots = slots;
  submission g = worker(0, 0, 3);
  g.h.flags = nic::flag::in_rank_order;
  BOOST_TEST((g.submit_to(slots).result == outcome::unsupported_operation));
  for (int const o : {0, 6, 255}) {
    g = worker(0, 0);
    g.h.operation = static_cast<network_operation>(o);
    BOOST_TEST((g.submit_to(slots).result == outcome::unsupported_operation));
  }
  g = worker(0, 0);
  g.h.slot = 1;
  BOOST_TEST((g.submit_to(slots).result == outcome::no_slot));
  BOOST_TEST((slots.query(g.h).result == outcome::no_slot));
  BOOST_TEST((slots == old_slots));
}

BOOST_AUTO_TEST_CASE(a_query_is_answered_by_what_is_known) {
  nic::slot_table slots(1, 8);
  nic::header const h = worker(0, 0, 3).h;
  BOOST_TEST((slots.query(h).result == outcome::pending));
  BOOST_TEST(!slots.at(h).has_sequence(0));
  std::ignore = worker(0, 0, 3).submit_to(slots);
  std::ignore = worker(2, 0, 3).submit_to(slots);
  BOOST_TEST((slots.query(h).result == outcome::pending));
  BOOST_TEST((slots.at(h).has_sequence(0) && slots.at(h).contributors.has(0) && !slots.at(h).contributors.has(1)));
  nic::header other = h;
  other.fingerprint ^= 1;
  BOOST_TEST((slots.query(other).result == outcome::mismatch));
  std::ignore = worker(1, 0, 3).submit_to(slots);
  BOOST_TEST((slots.query(h).result == outcome::available));
}

BOOST_AUTO_TEST_CASE(a_supplied_result_completes_a_slot_unless_it_is_complete) {
  float const result = 42;
  float const other = 43;
  auto const bytes = [](float const& x) { return std::as_bytes(std::span(&x, 1)); };
  nic::header supply = worker(1, 0, 3).h;
  supply.kind = nic::kind::supply;
  for (unsigned const present : {0U, 2U, 3U}) {
    nic::slot_table slots(1, 8);
    for (unsigned w = 0; w < present; ++w) {
      std::ignore = worker(w, 0, 3).submit_to(slots);
    }
    BOOST_TEST(
        (slots.supply(1, supply, bytes(result)).result == (present == 3 ? outcome::available : outcome::complete)));
    BOOST_TEST((slots.supply(1, supply, bytes(other)).result == outcome::available));
    BOOST_TEST((worker(2, 0, 3).submit_to(slots).result == outcome::available));
    float actual = 0;
    std::memcpy(&actual, slots.data(supply).data(), sizeof actual);
    BOOST_TEST(actual == (present == 3 ? 6 : result));
    submission mismatch = worker(0, 0, 3);
    mismatch.h.fingerprint ^= 1;
    BOOST_TEST((mismatch.submit_to(slots).result == outcome::mismatch));
  }
}

/// Workers over a network that loses, repeats and reorders packets, and drops answers. A worker repeats contributions
/// without a result, and reuses a slot once it has the previous result. Each sequence has some of the workers.
class bad_network {
 public:
  bad_network(unsigned seed, bool in_rank_order) : random_(seed), in_rank_order_(in_rank_order) {
    for (auto& m : members_) {
      for (unsigned w = 0; w < workers; ++w) {
        if (random_() % 3 != 0) {
          m.push_back(w);
          ++missing_results_;
        }
      }
    }
  }

  void run() {
    for (unsigned step = 0; missing_results_ != 0; ++step) {
      BOOST_TEST_REQUIRE(step < 1'000'000U);
      send(static_cast<unsigned>(random_() % workers), static_cast<std::uint32_t>(random_() % sequences));
      if (!packets_in_flight_.empty() && random_() % 2 == 0) {
        deliver();
      }
    }
    for (std::uint32_t q = 0; q < sequences; ++q) {
      for (unsigned const w : members_[q]) {
        BOOST_TEST(results_[w][q].value() == fold_values(q, in_rank_order_ ? members_[q] : order_[q]),
                   "sequence " << q << " at worker " << w);
      }
    }
  }

 private:
  static constexpr unsigned workers = 5;
  static constexpr std::uint32_t slots_in_use = 3;
  static constexpr std::uint32_t sequences = 60;

  static float value(unsigned w, std::uint32_t q) { return static_cast<float>(q + 1) / static_cast<float>(w + 3); }
  static float fold_values(std::uint32_t q, std::vector<unsigned> const& order) {
    float sum = value(order[0], q);
    for (std::size_t k = 1; k < order.size(); ++k) {
      sum += value(order[k], q);
    }
    return sum;
  }
  [[nodiscard]] bool needs(unsigned w, std::uint32_t q) const {
    return std::ranges::find(members_[q], w) != members_[q].end() && !results_[w][q];
  }

  void send(unsigned w, std::uint32_t q) {
    for (std::uint32_t earlier = q % slots_in_use; earlier < q; earlier += slots_in_use) {
      if (needs(w, earlier)) {
        return;
      }
    }
    if (needs(w, q)) {
      auto const place = std::ranges::find(members_[q], w) - members_[q].begin();
      nic::header h =
          contribution(static_cast<unsigned>(place), static_cast<unsigned>(members_[q].size()), q, sizeof(float));
      h.slot = static_cast<std::uint16_t>(q % slots_in_use);
      h.flags = static_cast<std::uint16_t>((q / slots_in_use % 2) | (in_rank_order_ ? nic::flag::in_rank_order : 0U));
      packets_in_flight_.emplace_back(h, value(w, q));
    }
  }

  void deliver() {
    std::size_t const i = random_() % packets_in_flight_.size();
    auto const [h, x] = packets_in_flight_[i];
    if (random_() % 4 != 0) {
      packets_in_flight_.erase(packets_in_flight_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (random_() % 5 == 0) {
      return;
    }
    std::uint32_t const q = h.sequence;
    unsigned const sender = members_[q][h.worker];
    auto const old_slots = slots_;
    auto const v = slots_.contribute(static_cast<std::uint8_t>(sender), h, std::as_bytes(std::span(&x, 1)));
    bool const is_stored = v.result == outcome::pending || v.result == outcome::complete;
    BOOST_TEST_REQUIRE((is_stored || slots_ == old_slots));
    BOOST_TEST_REQUIRE((v.result != outcome::mismatch && v.result != outcome::unsupported_operation));
    if (is_stored) {
      if (slots_.at(h).count == 1) {
        order_[q].clear();  // the sequence began, perhaps again
      }
      order_[q].push_back(sender);
    }
    if (v.result == outcome::complete || v.result == outcome::available) {
      float result = 0;
      std::memcpy(&result, slots_.data(h).data(), sizeof result);
      for (unsigned const receiver : members_[q]) {
        if (v.result == outcome::complete || receiver == sender) {
          answer(receiver, q, result);
        }
      }
    } else if (v.result == outcome::late && !results_[sender][q]) {
      // Another worker has the result; or no worker has, and all leave the device.
      auto const holder = std::ranges::find_if(members_[q], [&](unsigned w) { return results_[w][q].has_value(); });
      if (holder == members_[q].end()) {
        order_[q] = members_[q];
      }
      answer(sender, q, holder == members_[q].end() ? fold_values(q, members_[q]) : *results_[*holder][q]);
    }
  }
  void answer(unsigned receiver, std::uint32_t q, float result) {
    if (!results_[receiver][q] && random_() % 5 != 0) {
      results_[receiver][q] = result;
      --missing_results_;
    }
  }

  std::mt19937 random_;
  bool in_rank_order_;
  nic::slot_table slots_{slots_in_use, 8};
  std::vector<std::vector<unsigned>> members_{sequences};
  std::vector<std::vector<unsigned>> order_{sequences};  ///< order of arrival of the contributions
  std::vector<std::vector<std::optional<float>>> results_{workers, std::vector<std::optional<float>>(sequences)};
  std::vector<std::pair<nic::header, float>> packets_in_flight_;
  std::size_t missing_results_ = 0;
};

BOOST_AUTO_TEST_CASE(loss_repetition_and_order_change_no_result) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      bad_network(seed, seed % 2 == 0).run();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
