// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include <Vwrapper_parts.h>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <verilated.h>

// The parts of the wrappers for other shells: a merge of two streams of frames, and registers in another clock
// domain.

namespace {

struct fixture {
  explicit fixture(std::uint32_t seed = 1) : random(seed) {
    top->rst = top->s_rst = top->m_rst = 1;
    for (int i = 0; i < 4; ++i) {
      for (int const level : {1, 0}) {
        top->clk = top->s_clk = top->m_clk = static_cast<unsigned char>(level);
        top->eval();
      }
    }
    top->rst = top->s_rst = top->m_rst = 0;
    top->eval();
  }
  ~fixture() { top->final(); }
  fixture(fixture const&) = delete;
  fixture& operator=(fixture const&) = delete;

  /// True in `percent` of a hundred cases.
  bool happens(unsigned percent) { return random() % 100 < percent; }

  std::unique_ptr<VerilatedContext> context = std::make_unique<VerilatedContext>();
  std::unique_ptr<Vwrapper_parts> top = std::make_unique<Vwrapper_parts>(context.get());
  std::mt19937 random;
};

/// Frames of one of two sources: a beat holds the source, the number of the frame, and its own number in it.
struct source {
  std::uint32_t name;
  std::uint32_t frame = 0;
  std::uint32_t at = 0;
  std::uint32_t length = 1;
  bool offers = false;

  [[nodiscard]] std::uint32_t beat() const { return name << 24 | frame << 8 | at; }
  [[nodiscard]] bool last() const { return at + 1 == length; }
  void taken(std::mt19937& random) {
    offers = false;
    if (last()) {
      ++frame;
      at = 0;
      length = 1 + static_cast<std::uint32_t>(random() % 5);
    } else {
      ++at;
    }
  }
};

/// Runs this number of clocks; the sources offer a beat in `offer` percent of them, and beats are taken in `take`
/// percent. Returns the number of frames of each source that arrived whole and in order.
std::array<std::uint32_t, 2> merged(fixture& f, int clocks, unsigned offer, unsigned take) {
  auto& t = *f.top;
  std::array<source, 2> from{{{1}, {2}}};
  std::array<std::uint32_t, 2> whole{};
  std::uint32_t inside = 0;  // the source of the frame that is leaving
  std::uint32_t next_beat = 0;
  bool waited = false;
  std::uint32_t shown = 0;
  int wrong = 0;
  for (int i = 0; i < clocks; ++i) {
    for (auto& s : from) {
      s.offers = s.offers || f.happens(offer);
    }
    t.a_valid = from[0].offers;
    t.a_beat = from[0].beat();
    t.a_last = from[0].last();
    t.b_valid = from[1].offers;
    t.b_beat = from[1].beat();
    t.b_last = from[1].last();
    t.ready = f.happens(take);
    t.clk = 0;
    t.eval();
    wrong += waited && (t.valid == 0 || t.beat != shown) ? 1 : 0;  // a beat that was offered has changed
    waited = t.valid != 0 && t.ready == 0;
    shown = t.beat;
    bool const a_taken = t.a_valid != 0 && t.a_ready != 0;
    bool const b_taken = t.b_valid != 0 && t.b_ready != 0;
    wrong += (a_taken ? 1 : 0) + (b_taken ? 1 : 0) != (t.valid != 0 && t.ready != 0 ? 1 : 0) ? 1 : 0;
    if (t.valid != 0 && t.ready != 0) {
      std::uint32_t const name = t.beat >> 24;
      std::uint32_t const frame = t.beat >> 8 & 0xffffU;
      wrong += name != 1 && name != 2 ? 1 : 0;
      std::uint32_t const s = name == 2 ? 1 : 0;
      wrong += (t.beat & 0xffU) != next_beat || (inside != 0 && inside != name) || frame != whole[s] ? 1 : 0;
      inside = t.last != 0 ? 0 : name;
      next_beat = t.last != 0 ? 0 : next_beat + 1;
      whole[s] += t.last != 0 ? 1 : 0;
    }
    t.clk = 1;
    t.eval();
    if (a_taken) {
      from[0].taken(f.random);
    }
    if (b_taken) {
      from[1].taken(f.random);
    }
  }
  BOOST_TEST(wrong == 0);
  return whole;
}

/// A register slave with random delays.
struct slave {
  std::map<std::uint32_t, std::uint32_t> held;
  bool has_address = false;
  bool has_value = false;
  bool writes = false;
  std::uint32_t address = 0;
  std::uint32_t value = 0;

  void before_edge(Vwrapper_parts& t, fixture& f) {
    t.m_awready = !has_address && f.happens(40);
    t.m_wready = !has_value && f.happens(40);
    t.m_arready = !has_address && f.happens(40);
  }
  void after_edge(Vwrapper_parts& t, bool aw, bool w, bool ar, bool b, bool r) {
    if (aw || ar) {
      has_address = true;
      address = aw ? t.m_awaddr : t.m_araddr;
    }
    if (w) {
      has_value = true;
      value = t.m_wdata;
    }
    if (aw || w) {
      writes = true;
    }
    if (has_address && has_value) {
      held[address] = value;
      t.m_bvalid = 1;
      t.m_bresp = address == 0x800 ? 2 : 0;
    } else if (has_address && !writes) {
      t.m_rvalid = 1;
      t.m_rdata = held[address];
      t.m_rresp = address == 0x800 ? 2 : 0;
    }
    if (b || r) {
      t.m_bvalid = t.m_rvalid = 0;
      has_address = has_value = writes = false;
    }
  }
};

/// Advances one of the clocks, or both.
void edge(fixture& f, slave& s, bool s_side, bool m_side) {
  auto& t = *f.top;
  if (m_side) {
    s.before_edge(t, f);
  }
  t.eval();
  bool const aw = t.m_awvalid != 0 && t.m_awready != 0;
  bool const w = t.m_wvalid != 0 && t.m_wready != 0;
  bool const ar = t.m_arvalid != 0 && t.m_arready != 0;
  bool const b = t.m_bvalid != 0 && t.m_bready != 0;
  bool const r = t.m_rvalid != 0 && t.m_rready != 0;
  if (s_side) {
    t.s_clk = 1;
  }
  if (m_side) {
    t.m_clk = 1;
  }
  t.eval();
  if (m_side) {
    s.after_edge(t, aw, w, ar, b, r);
  }
  t.s_clk = t.m_clk = 0;
  t.eval();
}

}  // namespace

BOOST_AUTO_TEST_CASE(frames_of_two_streams_stay_whole_and_in_order) {
  for (unsigned const offer : {20U, 60U, 100U}) {
    for (unsigned const take : {30U, 100U}) {
      fixture f(offer + take);
      auto const whole = merged(f, 20'000, offer, take);
      BOOST_TEST(whole[0] > 500);
      BOOST_TEST(whole[1] > 500);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(two_streams_that_have_always_frames_take_turns, fixture) {
  auto const whole = merged(*this, 10'000, 100, 100);
  BOOST_TEST(whole[0] + 1 >= whole[1]);
  BOOST_TEST(whole[1] + 1 >= whole[0]);
}

BOOST_FIXTURE_TEST_CASE(what_looks_on_sees_each_beat_once_and_does_not_wait_for_the_host, fixture) {
  auto& t = *top;
  std::uint32_t offered = 0;  // number of beats
  std::uint32_t taken = 0;
  std::uint32_t shown = 0;
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (offered == taken && happens(60)) {
      ++offered;
    }
    t.tap_valid = offered != taken;
    t.tap_ready = happens(30);
    t.clk = 0;
    t.eval();
    shown += t.tap_shown;
    wrong += shown != offered ? 1 : 0;  // a beat is shown in the clock in which it is offered, taken or not
    taken += t.tap_valid & t.tap_ready;
    t.clk = 1;
    t.eval();
  }
  BOOST_TEST(wrong == 0);
  BOOST_TEST(taken > 3000U);
}

BOOST_AUTO_TEST_CASE(registers_are_reached_from_a_faster_and_a_slower_clock) {
  for (unsigned const own_share : {15U, 50U, 85U}) {  // percentage of clock edges of the slave side
    fixture f(own_share);
    auto& t = *f.top;
    slave s;
    std::map<std::uint32_t, std::uint32_t> expected;
    int wrong = 0;
    for (int i = 0; i < 400; ++i) {
      std::uint32_t const at = i % 20 == 7 ? 0x800 : 4 * static_cast<std::uint32_t>(f.random() % 16);
      bool const writes = f.happens(50);
      auto const value = static_cast<std::uint32_t>(f.random());
      t.s_awvalid = t.s_wvalid = writes;
      t.s_arvalid = !writes;
      t.s_awaddr = t.s_araddr = static_cast<std::uint16_t>(at);
      t.s_wdata = value;
      t.s_bready = t.s_rready = 0;
      int left = 2000;
      bool done = false;
      for (; !done && left > 0; --left) {
        bool const own = f.happens(own_share);
        t.s_bready = t.s_rready = f.happens(50);
        t.eval();
        bool const taken = own && (writes ? t.s_awready != 0 && t.s_wready != 0 : t.s_arready != 0);
        done = own && (writes ? t.s_bvalid != 0 && t.s_bready != 0 : t.s_rvalid != 0 && t.s_rready != 0);
        wrong += done && !writes && t.s_rdata != expected[at] ? 1 : 0;
        wrong += done && (writes ? t.s_bresp : t.s_rresp) != (at == 0x800 ? 2 : 0) ? 1 : 0;
        wrong += (writes ? t.s_rvalid : t.s_bvalid) != 0 ? 1 : 0;
        edge(f, s, own, !own || f.happens(5));
        if (taken) {
          t.s_awvalid = t.s_wvalid = t.s_arvalid = 0;
        }
      }
      BOOST_REQUIRE_MESSAGE(done, "access " << i << " was not answered");
      if (writes) {
        expected[at] = value;
      }
    }
    BOOST_TEST(wrong == 0);
  }
}
