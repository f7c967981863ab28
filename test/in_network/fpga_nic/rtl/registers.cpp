// SPDX-License-Identifier: Apache-2.0
#include <hardware/fpga_nic/model/nic_model.hpp>
#include <hardware/fpga_nic/registers/device.hpp>
#include <hardware/fpga_nic/registers/model.hpp>
#include <hardware/fpga_nic/registers/xdma.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <unistd.h>

// Registers behind one interface of four functions: the Verilated device's over AXI-Lite, and those of a card, which
// a file replaces.

namespace {

namespace nic = tutti::detail::fpga_nic;

constexpr frame::place device_address{.mac = {0x02, 0x74, 0x75, 0x81, 0xf4, 0x69}, .ip = 0xc0a80a02, .port = 40001};
constexpr frame::place host{.mac = {0x02, 0, 0, 0, 0, 1}, .ip = 0xc0a80a01, .port = 50000};

struct fixture {
  fixture() { registers.open({model}); }

  void give(nic::header const& h, std::span<std::byte const> payload, frame::place const& destination = device_address,
            frame::place const& source = host) {
    std::array<std::byte, nic::max_packet> packet;
    std::array<std::byte, frame::max_size> bytes;
    std::size_t const length = nic::seal().write(h, payload, packet.data());
    model.give(std::span(bytes).first(frame::write(
        {.source = source, .destination = destination, .payload = std::span(packet).first(length)}, bytes.data())));
  }
  void send(nic::header const& h, std::span<std::byte const> payload,
            frame::place const& destination = device_address) {
    give(h, payload, destination);
    model.settle();
  }
  void join(std::uint32_t nonce) {
    std::array<std::byte, nic::terms::bytes> terms;
    nic::write(nic::terms{1000, 16}, terms.data());
    send({.kind = nic::kind::join, .job = nonce, .length = nic::terms::bytes, .worker = 1, .workers = 3}, terms);
  }

  nic_model model{0.2};
  model_registers registers;
};

frame::place station(unsigned number) {
  frame::place p = host;
  p.ip += number;
  return p;
}

/// Clocks for queries of `workers` members, beginning with `first_member`.
std::uint64_t clocks_of_queries(unsigned first_member, unsigned workers) {
  fixture f;
  device::enable(f.registers, device_address);
  std::array<std::byte, nic::terms::bytes> terms;
  nic::write(nic::terms{1000, 16}, terms.data());
  for (unsigned m = 0; m != 16; ++m) {
    f.give({.kind = nic::kind::join, .job = 7, .length = 6, .worker = static_cast<std::uint8_t>(m), .workers = 16},
           terms, device_address, station(m));
  }
  f.model.settle();
  std::uint64_t const start = f.model.clocks();
  for (unsigned i = 0; i != 400; ++i) {
    f.give({.kind = nic::kind::query,
            .operation = tutti::network_operation::sum_float32,
            .job = 7,
            .worker = static_cast<std::uint8_t>(i % workers),
            .workers = static_cast<std::uint8_t>(workers)},
           {}, device_address, station(first_member + i % workers));
  }
  f.model.settle();
  BOOST_TEST(device::to_switch_counters(device::read_counters(f.registers)).queries == 400);
  return f.model.clocks() - start;
}

/// A file of one page that replaces a card's registers.
class page {
 public:
  page() {
    int const fd = ::mkstemp(name_.data());
    BOOST_REQUIRE(fd >= 0);
    BOOST_REQUIRE(::ftruncate(fd, xdma_registers::bytes) == 0);
    ::close(fd);
  }
  page(page const&) = delete;
  page& operator=(page const&) = delete;
  ~page() { ::unlink(name_.c_str()); }
  [[nodiscard]] std::string const& name() const { return name_; }

 private:
  std::string name_ = "registers_XXXXXX";
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_device_says_what_it_is, fixture) {
  auto const build = device::identify(registers);
  BOOST_TEST(build.lanes == 16);
  BOOST_TEST(build.slots == 16384);
  BOOST_TEST(build.slots_in_order == 2048);
  BOOST_TEST(build.workers >= 16);
  BOOST_TEST(build.jobs >= 1);
}

BOOST_FIXTURE_TEST_CASE(it_keeps_the_address_that_it_is_given, fixture) {
  BOOST_TEST(!device::is_enabled(registers));
  device::enable(registers, device_address);
  BOOST_TEST((device::place_of(registers) == device_address));
  BOOST_TEST(device::is_enabled(registers));
  device::disable(registers);
  BOOST_TEST(!device::is_enabled(registers));
  BOOST_TEST((device::place_of(registers) == device_address));
}

BOOST_FIXTURE_TEST_CASE(what_is_read_only_or_not_there_ignores_writes, fixture) {
  for (std::uint32_t const address : {device::at::identification, device::at::version, device::at::sizes,
                                      device::at::lanes, device::at::counters, 0xff0U, 0xffcU}) {
    std::uint32_t const value = registers.read(address);
    registers.write(address, ~value);
    BOOST_TEST(registers.read(address) == value, "register " << address);
  }
  BOOST_TEST(registers.read(0xff0) == 0);
}

BOOST_FIXTURE_TEST_CASE(frames_are_counted_by_what_becomes_of_them, fixture) {
  join(7);
  BOOST_TEST(device::read_counters(registers)[3] == 1, "a device that is not enabled takes frames");
  device::enable(registers, device_address);
  frame::place other = device_address;
  other.port ^= 1;
  std::array<std::byte, nic::terms::bytes> const none{};
  send({.kind = nic::kind::join, .job = 7, .length = 6, .workers = 1}, none, other);
  auto const foreign = device::read_counters(registers);
  BOOST_TEST(foreign[0] == 2);
  BOOST_TEST(foreign[3] == 2);
  BOOST_TEST(model.output().empty());

  join(7);
  send({.kind = nic::kind::query, .job = 9, .worker = 1, .workers = 3}, {});
  auto const c = device::to_switch_counters(device::read_counters(registers));
  BOOST_TEST(c.packets == 2);
  BOOST_TEST(c.joins == 1);
  BOOST_TEST(c.refusals_for(nic::refusal::unknown) == 1);
  BOOST_TEST(c.unanswered_refusals == 1);
  BOOST_TEST(c.accounted_packets() == c.packets);
  BOOST_TEST(device::read_counters(registers)[26] == 1, "frames were sent");
}

BOOST_FIXTURE_TEST_CASE(jobs_are_shown_and_can_be_ended, fixture) {
  device::enable(registers, device_address);
  BOOST_TEST(!device::job_at(registers, 0).exists);
  join(0x12345678);
  auto const j = device::job_at(registers, 0);
  BOOST_TEST(j.exists);
  BOOST_TEST(j.nonce == 0x12345678);
  BOOST_TEST(j.members == 3);
  BOOST_TEST(j.present == 1);
  BOOST_TEST(j.slots == 16);
  BOOST_TEST(!j.in_rank_order);
  device::end_job(registers, 0);
  BOOST_TEST(!device::job_at(registers, 0).exists);
}

BOOST_FIXTURE_TEST_CASE(a_job_can_be_ended_among_its_packets, fixture) {
  device::enable(registers, device_address);
  join(7);
  for (std::uint32_t q = 0; q != 40; ++q) {
    give({.kind = nic::kind::query, .job = 7, .sequence = q, .worker = 1, .workers = 3}, {});
  }
  for (int i = 0; i != 100; ++i) {
    model.step();
  }
  device::end_job(registers, 0);
  BOOST_TEST(!model.idle(), "packets are still coming");
  BOOST_TEST(!device::job_at(registers, 0).exists);
  model.settle();
  auto const c = device::to_switch_counters(device::read_counters(registers));
  BOOST_TEST(c.queries != 0U);
  BOOST_TEST(c.refusals_for(nic::refusal::unknown) != 0U);
  BOOST_TEST(c.queries + c.refusals_for(nic::refusal::unknown) == 40U);
  join(8);
  BOOST_TEST(device::job_at(registers, 0).nonce == 8);
}

BOOST_FIXTURE_TEST_CASE(the_channels_of_registers_come_in_any_order, fixture) {
  std::uint32_t value = 0x01020304;
  for (unsigned const address_waits : {0U, 1U, 5U}) {
    for (unsigned const data_waits : {0U, 1U, 5U}) {
      for (unsigned const read_waits : {0U, 2U}) {
        for (unsigned const answer_waits : {0U, 1U, 7U}) {
          std::uint32_t const port = value & 0xffffU;
          registers.write(device::at::port, port);
          model.finish({.write = register_access::assignment{device::at::ip, value},
                        .read = device::at::port,
                        .address_waits = address_waits,
                        .data_waits = data_waits,
                        .read_address_waits = read_waits,
                        .answer_waits = answer_waits});
          BOOST_TEST(model.host().value() == port);
          BOOST_TEST(registers.read(device::at::ip) == value);
          value = value * 5 + 1;
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_worker_is_found_at_once_whichever_member_it_is) {
  std::uint64_t const first = clocks_of_queries(0, 4);
  std::uint64_t const last = clocks_of_queries(12, 4);
  BOOST_TEST(last < first + first / 10, first << " clocks, and " << last);
}

BOOST_AUTO_TEST_CASE(a_card_is_a_file_that_is_mapped) {
  page const card;
  xdma_registers r;
  r.open({.path = card.name()});
  BOOST_CHECK_EXCEPTION(std::ignore = device::identify(r), std::runtime_error, [](auto const& e) {
    return std::string(e.what()).find("identification in the registers is 00000000") != std::string::npos;
  });
  device::enable(r, device_address);
  r.close();
  r.close();
  r.open({.path = card.name()});
  BOOST_TEST((device::place_of(r) == device_address));
  BOOST_TEST(r.read(device::at::mac_high) == 0x0274U);
  BOOST_TEST(r.read(device::at::mac_low) == 0x7581f469U);
}

BOOST_AUTO_TEST_CASE(a_card_that_is_not_there_is_named) {
  xdma_registers r;
  BOOST_CHECK_EXCEPTION(r.open({.path = "/nowhere/xdma0_user"}), std::runtime_error, [](auto const& e) {
    return std::string(e.what()).find("/nowhere/xdma0_user cannot be opened (No such file") != std::string::npos;
  });
}
