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
  std::uint32_t beat_number = 0;
  std::uint32_t length = 1;
  bool offers = false;

  [[nodiscard]] std::uint32_t beat() const { return name << 24 | frame << 8 | beat_number; }
  [[nodiscard]] bool is_last() const { return beat_number + 1 == length; }
  void advance(std::mt19937& random) {
    offers = false;
    if (is_last()) {
      ++frame;
      beat_number = 0;
      length = 1 + static_cast<std::uint32_t>(random() % 5);
    } else {
      ++beat_number;
    }
  }
};

/// Runs this number of clocks; the sources offer a beat in `offer` percent of them, and beats are taken in `take`
/// percent. Returns the number of frames of each source that arrived whole and in order.
std::array<std::uint32_t, 2> count_merged_frames(fixture& f, int clocks, unsigned offer, unsigned take) {
  auto& t = *f.top;
  std::array<source, 2> sources{{{1}, {2}}};
  std::array<std::uint32_t, 2> frame_counts{};
  std::uint32_t current_source = 0;  // the source of the frame that is leaving
  std::uint32_t next_beat = 0;
  bool beat_waits = false;
  std::uint32_t last_beat = 0;
  int violations = 0;
  for (int i = 0; i < clocks; ++i) {
    for (auto& s : sources) {
      s.offers = s.offers || f.happens(offer);
    }
    t.a_valid = sources[0].offers;
    t.a_beat = sources[0].beat();
    t.a_last = sources[0].is_last();
    t.b_valid = sources[1].offers;
    t.b_beat = sources[1].beat();
    t.b_last = sources[1].is_last();
    t.ready = f.happens(take);
    t.clk = 0;
    t.eval();
    violations += beat_waits && (t.valid == 0 || t.beat != last_beat) ? 1 : 0;  // a beat that was offered has changed
    beat_waits = t.valid != 0 && t.ready == 0;
    last_beat = t.beat;
    bool const takes_a = t.a_valid != 0 && t.a_ready != 0;
    bool const takes_b = t.b_valid != 0 && t.b_ready != 0;
    violations += (takes_a ? 1 : 0) + (takes_b ? 1 : 0) != (t.valid != 0 && t.ready != 0 ? 1 : 0) ? 1 : 0;
    if (t.valid != 0 && t.ready != 0) {
      std::uint32_t const name = t.beat >> 24;
      std::uint32_t const frame = t.beat >> 8 & 0xffffU;
      violations += name != 1 && name != 2 ? 1 : 0;
      std::uint32_t const s = name == 2 ? 1 : 0;
      violations +=
          (t.beat & 0xffU) != next_beat || (current_source != 0 && current_source != name) || frame != frame_counts[s]
              ? 1
              : 0;
      current_source = t.last != 0 ? 0 : name;
      next_beat = t.last != 0 ? 0 : next_beat + 1;
      frame_counts[s] += t.last != 0 ? 1 : 0;
    }
    t.clk = 1;
    t.eval();
    if (takes_a) {
      sources[0].advance(f.random);
    }
    if (takes_b) {
      sources[1].advance(f.random);
    }
  }
  BOOST_TEST(violations == 0);
  return frame_counts;
}

/// A register slave with random delays.
struct slave {
  std::map<std::uint32_t, std::uint32_t> registers;
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
      registers[address] = value;
      t.m_bvalid = 1;
      t.m_bresp = address == 0x800 ? 2 : 0;
    } else if (has_address && !writes) {
      t.m_rvalid = 1;
      t.m_rdata = registers[address];
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
      auto const frame_counts = count_merged_frames(f, 20'000, offer, take);
      BOOST_TEST(frame_counts[0] > 500);
      BOOST_TEST(frame_counts[1] > 500);
    }
  }
}

BOOST_FIXTURE_TEST_CASE(two_streams_that_have_always_frames_take_turns, fixture) {
  auto const frame_counts = count_merged_frames(*this, 10'000, 100, 100);
  BOOST_TEST(frame_counts[0] + 1 >= frame_counts[1]);
  BOOST_TEST(frame_counts[1] + 1 >= frame_counts[0]);
}

BOOST_FIXTURE_TEST_CASE(what_looks_on_sees_each_beat_once_and_does_not_wait_for_the_host, fixture) {
  auto& t = *top;
  std::uint32_t offered_beats = 0;
  std::uint32_t taken_beats = 0;
  std::uint32_t shown_beats = 0;
  int violations = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (offered_beats == taken_beats && happens(60)) {
      ++offered_beats;
    }
    t.tap_valid = offered_beats != taken_beats;
    t.tap_ready = happens(30);
    t.clk = 0;
    t.eval();
    shown_beats += t.tap_shown;
    violations +=
        shown_beats != offered_beats ? 1 : 0;  // a beat is shown in the clock in which it is offered, taken or not
    taken_beats += t.tap_valid & t.tap_ready;
    t.clk = 1;
    t.eval();
  }
  BOOST_TEST(violations == 0);
  BOOST_TEST(taken_beats > 3000U);
}

BOOST_AUTO_TEST_CASE(registers_are_reached_from_a_faster_and_a_slower_clock) {
  for (unsigned const s_share : {15U, 50U, 85U}) {  // percentage of clock edges of the slave side
    fixture f(s_share);
    auto& t = *f.top;
    slave s;
    std::map<std::uint32_t, std::uint32_t> expected;
    int violations = 0;
    for (int i = 0; i < 400; ++i) {
      std::uint32_t const address = i % 20 == 7 ? 0x800 : 4 * static_cast<std::uint32_t>(f.random() % 16);
      bool const writes = f.happens(50);
      auto const value = static_cast<std::uint32_t>(f.random());
      t.s_awvalid = t.s_wvalid = writes;
      t.s_arvalid = !writes;
      t.s_awaddr = t.s_araddr = static_cast<std::uint16_t>(address);
      t.s_wdata = value;
      t.s_bready = t.s_rready = 0;
      int edges_left = 2000;
      bool is_done = false;
      for (; !is_done && edges_left > 0; --edges_left) {
        bool const is_s_edge = f.happens(s_share);
        t.s_bready = t.s_rready = f.happens(50);
        t.eval();
        bool const is_accepted = is_s_edge && (writes ? t.s_awready != 0 && t.s_wready != 0 : t.s_arready != 0);
        is_done = is_s_edge && (writes ? t.s_bvalid != 0 && t.s_bready != 0 : t.s_rvalid != 0 && t.s_rready != 0);
        violations += is_done && !writes && t.s_rdata != expected[address] ? 1 : 0;
        violations += is_done && (writes ? t.s_bresp : t.s_rresp) != (address == 0x800 ? 2 : 0) ? 1 : 0;
        violations += (writes ? t.s_rvalid : t.s_bvalid) != 0 ? 1 : 0;
        edge(f, s, is_s_edge, !is_s_edge || f.happens(5));
        if (is_accepted) {
          t.s_awvalid = t.s_wvalid = t.s_arvalid = 0;
        }
      }
      BOOST_REQUIRE_MESSAGE(is_done, "access " << i << " was not answered");
      if (writes) {
        expected[address] = value;
      }
    }
    BOOST_TEST(violations == 0);
  }
}
