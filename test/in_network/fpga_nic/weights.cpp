// SPDX-License-Identifier: Apache-2.0
// test: address
#include <in_network/fpga_nic/packets.hpp>
#include <tutti/in_network/detail/fpga_nic/block_requests.hpp>
#include <tutti/in_network/detail/fpga_nic/slot_table.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_exchange.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_requests.hpp>
#include <tutti/nn/optimizer/sgd.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace nic = tutti::detail::fpga_nic;
using namespace packets;
using nic::outcome;

namespace {

constexpr std::size_t numbers = nic::block_bytes / sizeof(float);
using weights = std::vector<float>;

struct terms {
  std::uint32_t number = 0;
  std::uint32_t version = 0;
  float rate = 0.1F;
  float decay = 0;
};

std::vector<std::byte> payload_of(std::span<float const> gradients, terms const& t) {
  std::vector<std::byte> bytes(nic::block_bytes + nic::update_terms::bytes);
  std::memcpy(bytes.data(), gradients.data(), nic::block_bytes);
  nic::write(nic::update_terms{t.number, t.version, std::bit_cast<std::uint32_t>(t.rate),
                               std::bit_cast<std::uint32_t>(t.decay)},
             bytes.data() + nic::block_bytes);
  return bytes;
}
nic::header update_header(unsigned worker, unsigned workers, std::uint32_t sequence, bool in_rank_order = true) {
  nic::header h = contribution(worker, workers, sequence, nic::block_bytes + nic::update_terms::bytes,
                               tutti::network_operation::update);
  h.slot = 0;
  h.flags = static_cast<std::uint16_t>((sequence % 2 != 0 ? nic::flag::phase : 0) |
                                       (in_rank_order ? nic::flag::in_rank_order : 0));
  return h;
}
nic::verdict push(nic::slot_table& slots, unsigned worker, unsigned workers, std::uint32_t sequence, terms const& t,
                  weights const& gradients = weights(numbers, 1.0F)) {
  return slots.contribute(static_cast<std::uint8_t>(worker), update_header(worker, workers, sequence),
                          payload_of(gradients, t));
}
nic::verdict store(nic::slot_table& slots, std::uint32_t number, std::uint32_t version, weights const& w) {
  return slots.store(weights_header(nic::kind::supply, number, version, nic::block_bytes), std::as_bytes(std::span(w)));
}
weights stored_weights(nic::slot_table const& slots, std::uint32_t number) {
  weights w(numbers);
  std::memcpy(w.data(), slots.weights().data(number).data(), nic::block_bytes);
  return w;
}
weights result(nic::slot_table const& slots, nic::header const& h) {
  weights w(numbers);
  std::memcpy(w.data(), slots.data(h).data(), nic::block_bytes);
  return w;
}
bool same_bits(weights const& a, weights const& b) {
  return std::memcmp(a.data(), b.data(), nic::block_bytes) == 0;
}

/// Random weights: small, large and NaN ones, but not -0, which no training produces.
weights draw_weights(std::mt19937& random) {
  using limits = std::numeric_limits<float>;
  constexpr std::array corners{
      0.0F, 1e-40F, -limits::denorm_min(), limits::min(), limits::max(), limits::infinity(), limits::quiet_NaN()};
  weights w(numbers);
  for (float& x : w) {
    x = random() % 8 == 0
            ? corners[random() % corners.size()]
            : std::ldexp(static_cast<float>(random() % 2000) - 1000.5F, static_cast<int>(random() % 60) - 30);
  }
  return w;
}
/// The result of a rank's optimizer for the sum in rank order.
weights updated_weights(weights w, std::vector<weights> const& gradients, float rate, float decay) {
  weights sum = gradients.front();
  for (std::size_t r = 1; r < gradients.size(); ++r) {
    for (std::size_t i = 0; i < numbers; ++i) {
      sum[i] += gradients[r][i];
    }
  }
  tutti::nn::sgd<float>(numbers, 0, decay).step(w, sum, rate);
  for (float& x : w) {
    x = tutti::detail::canonical(x);
  }
  return w;
}

BOOST_AUTO_TEST_CASE(an_update_has_the_bits_of_an_optimizer_on_a_rank) {
  std::mt19937 random(1);
  for (unsigned const workers : {1U, 2U, 3U, 8U}) {
    for (float const decay : {0.0F, 0.0005F}) {
      nic::slot_table slots(1, 8);
      slots.make_room(2);
      weights w = draw_weights(random);
      (void)store(slots, 1, 7, w);
      for (std::uint32_t step = 0; step < 5; ++step) {
        std::vector<weights> gradients;
        for (unsigned r = 0; r < workers; ++r) {
          gradients.push_back(draw_weights(random));
        }
        terms const t{1, 7 + step, 0.1F / static_cast<float>(1 + step), decay};
        for (unsigned r = workers; r-- > 0;) {
          auto const v = push(slots, r, workers, step, t, gradients[r]);
          BOOST_TEST_REQUIRE((v.result == (r == 0 ? outcome::complete : outcome::pending)));
        }
        w = updated_weights(w, gradients, t.rate, decay);
        BOOST_TEST(same_bits(stored_weights(slots, 1), w), workers << " workers, decay " << decay << ", step " << step);
        BOOST_TEST(same_bits(result(slots, update_header(0, workers, step)), w));
        BOOST_TEST(slots.weights().version(1) == t.version + 1);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_update_is_made_once_however_often_contributions_come) {
  nic::slot_table slots(1, 8);
  slots.make_room(1);
  (void)store(slots, 0, 0, weights(numbers, 1.0F));
  terms const t{.number = 0, .version = 0, .rate = 0.25F};
  BOOST_TEST((push(slots, 0, 2, 0, t).result == outcome::pending));
  BOOST_TEST((push(slots, 0, 2, 0, t).result == outcome::duplicate));
  BOOST_TEST((push(slots, 1, 2, 0, t).result == outcome::complete));
  auto const updated_slots = slots;
  for (unsigned const worker : {0U, 1U}) {
    BOOST_TEST((push(slots, worker, 2, 0, t).result == outcome::available));
  }
  BOOST_TEST((slots == updated_slots));
  BOOST_TEST(same_bits(stored_weights(slots, 0), weights(numbers, 0.5F)));
}

BOOST_AUTO_TEST_CASE(only_the_version_that_workers_have_is_updated) {
  nic::slot_table slots(1, 8);
  slots.make_room(1);
  auto const refuses = [&](std::uint32_t number, std::uint32_t version) {
    auto const old_slots = slots;
    bool const is_refused = push(slots, 0, 2, 0, {number, version}).result == outcome::no_weights;
    return is_refused && slots == old_slots;
  };
  BOOST_TEST(refuses(0, 0));  // the block does not exist
  (void)store(slots, 0, 3, weights(numbers, 1.0F));
  BOOST_TEST(refuses(0, 2));
  BOOST_TEST(refuses(0, 4));
  BOOST_TEST(refuses(1, 3));  // the table has no room for the block
  BOOST_TEST((push(slots, 0, 2, 0, {0, 3}).result == outcome::pending));
  // Later weights arrive during an update: its other workers leave the device, too.
  (void)store(slots, 0, 4, weights(numbers, 2.0F));
  auto const old_slots = slots;
  BOOST_TEST((push(slots, 1, 2, 0, {0, 3}).result == outcome::no_weights));
  BOOST_TEST((slots == old_slots));
}

BOOST_AUTO_TEST_CASE(weights_are_not_replaced_by_earlier_ones) {
  nic::slot_table slots(1, 8);
  slots.make_room(1);
  weights const weights_1(numbers, 1.0F);
  weights const weights_2(numbers, 2.0F);
  BOOST_TEST((slots.recall(weights_header(nic::kind::query, 0, 0, 0)).result == outcome::no_weights));
  BOOST_TEST((store(slots, 0, UINT32_MAX, weights_1).result == outcome::pending));
  BOOST_TEST((store(slots, 0, UINT32_MAX - 1, weights_2).result == outcome::available));
  BOOST_TEST(same_bits(stored_weights(slots, 0), weights_1));
  BOOST_TEST((store(slots, 0, UINT32_MAX, weights_2).result == outcome::pending));
  BOOST_TEST(same_bits(stored_weights(slots, 0), weights_2));
  BOOST_TEST((store(slots, 0, 1, weights_1).result == outcome::pending));  // versions wrap around
  BOOST_TEST(same_bits(stored_weights(slots, 0), weights_1));
  BOOST_TEST((store(slots, 1, 1, weights_2).result == outcome::no_slot));
  BOOST_TEST((slots.recall(weights_header(nic::kind::query, 0, 0, 0)).result == outcome::available));
}

BOOST_AUTO_TEST_CASE(workers_that_want_different_updates_call_differently) {
  terms const t{.number = 0, .version = 5, .rate = 0.5F, .decay = 0.25F};
  for (terms const& other :
       {terms{1, 5, 0.5F, 0.25F}, terms{0, 6, 0.5F, 0.25F}, terms{0, 5, 0.25F, 0.25F}, terms{0, 5, 0.5F, 0}}) {
    nic::slot_table slots(1, 8);
    slots.make_room(2);
    (void)store(slots, 0, 5, weights(numbers));
    BOOST_TEST((push(slots, 1, 3, 0, t).result == outcome::pending));
    auto const old_slots = slots;
    BOOST_TEST((push(slots, 2, 3, 0, other) == nic::verdict{outcome::mismatch, 1}));
    BOOST_TEST((slots == old_slots));
  }
}

BOOST_AUTO_TEST_CASE(a_stand_in_needs_the_weights_for_the_last_contribution) {
  nic::slot_table slots(1, 8, true);
  BOOST_TEST((push(slots, 0, 2, 0, {0, 9}).result == outcome::pending));
  auto const old_slots = slots;
  BOOST_TEST((push(slots, 1, 2, 0, {0, 9}).result == outcome::no_weights));
  BOOST_TEST((slots == old_slots));
  BOOST_TEST((push(slots, 0, 2, 0, {0, 9}).result == outcome::duplicate));
  slots.make_room(1);
  (void)store(slots, 0, 9, weights(numbers, 4.0F));
  BOOST_TEST((push(slots, 1, 2, 0, {.number = 0, .version = 9, .rate = 0.1F}).result == outcome::complete));
  // A supplied result does not update the weights.
  BOOST_TEST((push(slots, 0, 2, 1, {0, 9}).result == outcome::pending));
  nic::header h = update_header(1, 2, 1);
  h.kind = nic::kind::supply;
  h.length = nic::block_bytes;
  weights const sum_weights(numbers, 3.0F);
  BOOST_TEST((slots.supply(1, h, std::as_bytes(std::span(sum_weights))).result == outcome::complete));
  BOOST_TEST((push(slots, 0, 2, 1, {0, 9}).result == outcome::available));
  BOOST_TEST(slots.weights().version(0) == 10U);
}

/// A switch, and its last answer.
class device {
 public:
  explicit device(nic::switch_limits const& limits) : switch_(limits) {
    nic::header h = contribution(0, 2, 0, nic::terms::bytes, tutti::network_operation::none);
    h.kind = nic::kind::join;
    h.flags = nic::flag::in_rank_order;
    std::array<std::byte, nic::terms::bytes> request_terms;
    nic::write(nic::terms{1000, 2}, request_terms.data());
    for (std::uint8_t m = 0; m < 2; ++m) {
      h.worker = m;
      BOOST_TEST_REQUIRE((give(m, h, request_terms).kind == nic::kind::grant));
    }
  }

  nic::header give(std::uint32_t source, nic::header const& h, std::span<std::byte const> payload = {}) {
    answer_ = {};
    switch_.take(source, serialize(h, payload), false, {},
                 [&](std::uint32_t, nic::header const& r, auto answer_payload) {
                   answer_ = r;
                   data_.assign(answer_payload.begin(), answer_payload.end());
                 });
    BOOST_TEST(switch_.counts().packets == switch_.counts().accounted_packets());
    return answer_;
  }
  nic::header store(std::uint32_t number, std::uint32_t version, weights const& w) {
    auto h = weights_header(nic::kind::supply, number, version, nic::block_bytes);
    h.workers = 2;
    return give(0, h, std::as_bytes(std::span(w)));
  }
  nic::header pull(std::uint32_t number, std::uint16_t flags = 0) {
    auto h = weights_header(nic::kind::query, number, 0, 0);
    h.flags |= flags;
    h.worker = 1;
    h.workers = 2;
    return give(1, h);
  }
  [[nodiscard]] nic::refusal reason() const { return nic::read_refusal(data_); }
  [[nodiscard]] std::vector<std::byte> const& data() const { return data_; }
  [[nodiscard]] nic::summing_switch<std::uint32_t> const& inner() const { return switch_; }

 private:
  nic::summing_switch<std::uint32_t> switch_;
  nic::header answer_;
  std::vector<std::byte> data_;
};

BOOST_AUTO_TEST_CASE(a_device_gives_what_it_was_given) {
  device d({});
  weights const w(numbers, 1.5F);
  auto const store_answer = d.store(3, 8, w);
  BOOST_TEST((store_answer.kind == nic::kind::result && store_answer.has(nic::flag::weights)));
  BOOST_TEST(store_answer.sequence == 3U);
  BOOST_TEST(store_answer.fingerprint == 8U);
  BOOST_TEST(store_answer.length == 0U);
  auto const stale_answer = d.store(3, 7, weights(numbers));
  BOOST_TEST(stale_answer.fingerprint == 8U);
  auto const pull_answer = d.pull(3);
  BOOST_TEST((pull_answer.kind == nic::kind::result && pull_answer.has(nic::flag::weights)));
  BOOST_TEST(pull_answer.fingerprint == 8U);
  BOOST_TEST_REQUIRE(d.data().size() == nic::block_bytes);
  BOOST_TEST(std::memcmp(d.data().data(), w.data(), nic::block_bytes) == 0);
  BOOST_TEST(d.pull(3, nic::flag::no_data).length == 0U);
  for (std::uint32_t const none : {0U, 4U, UINT32_MAX}) {
    auto const refusal = d.pull(none);
    BOOST_TEST((refusal.kind == nic::kind::refuse && d.reason() == nic::refusal::no_weights));
    BOOST_TEST((refusal.has(nic::flag::weights) && refusal.sequence == none));
  }
  BOOST_TEST(d.inner().counts().stores == 2U);
  BOOST_TEST(d.inner().counts().pulls == 2U);
}

BOOST_AUTO_TEST_CASE(a_device_refuses_weights_that_do_not_fit) {
  device small_device({.keys = 2});
  BOOST_TEST((small_device.store(1, 0, weights(numbers)).kind == nic::kind::result));
  BOOST_TEST((small_device.store(2, 0, weights(numbers)).kind == nic::kind::refuse));
  BOOST_TEST((small_device.reason() == nic::refusal::no_slots));
  nic::switch_limits limits;
  limits.memory = nic::slot_table::bytes(2, 8) + 5 * nic::device_weights::bytes_per_block;
  device tight_device(limits);
  for (std::uint32_t number = 0; number < 5; ++number) {
    BOOST_TEST((tight_device.store(number, 0, weights(numbers)).kind == nic::kind::result));
  }
  BOOST_TEST((tight_device.store(5, 0, weights(numbers)).kind == nic::kind::refuse));
  BOOST_TEST((tight_device.store(UINT32_MAX, 0, weights(numbers)).kind == nic::kind::refuse));
  BOOST_TEST(tight_device.inner().jobs().front().slot_table().weights().room() == 5U);
  BOOST_TEST((tight_device.pull(4).kind == nic::kind::result));
}

// Updates of a block without memory are refused in each step, but the block is offered once.
BOOST_AUTO_TEST_CASE(a_block_that_a_device_has_no_room_for_is_offered_once_to_it) {
  constexpr std::uint32_t blocks = 4;
  std::vector<std::byte> const bytes(blocks * nic::block_bytes);
  nic::weight_exchange exchange;
  auto const offer_blocks = [&] {
    std::vector<std::uint32_t> keys;
    exchange.rank_weights.set_weights(bytes);
    exchange.begin_stores();
    exchange.requests.push(tutti::time_point(std::chrono::hours(1)), {}, [&](std::uint32_t k, std::uint32_t) {
      keys.push_back(k);
      return true;
    });
    return keys;
  };
  BOOST_TEST((offer_blocks() == std::vector<std::uint32_t>{0, 1, 2, 3}));
  exchange.note_no_room(2);
  for (std::uint32_t const k : {0U, 1U, 3U}) {
    exchange.note_version(k, exchange.rank_weights.version() + 1);
  }
  exchange.forget(1);
  exchange.forget(2);
  BOOST_TEST((offer_blocks() == std::vector<std::uint32_t>{1}));
  exchange.forget_all();  // another device may have more memory
  BOOST_TEST((offer_blocks() == std::vector<std::uint32_t>{0, 1, 2, 3}));
}

}  // namespace
