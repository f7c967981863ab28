// SPDX-License-Identifier: Apache-2.0
// test: address thread (ranks are threads, or processes, that share memory)
//
// A transport with devices over Host keeps Host's abilities: operations on host memory obey their laws, buffers come
// from Host, and a Host that registers memory registers the slots.
#include <laws/moving_operators.hpp>
#include <laws/reducing_operators.hpp>
#include <models/host_stager.hpp>
#include <tutti/allocator.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using tutti::rank_type;
using hosts = std::tuple<tutti::loopback, tutti::shared_memory>;

/// Ranks of `loopback` with a device that needs registered memory.
class registering : public tutti::loopback {
 public:
  using loopback::loopback;
  static inline std::atomic<std::size_t> registered_count = 0;    ///< messages in registered memory
  static inline std::atomic<std::size_t> unregistered_count = 0;  ///< messages in other memory

  void adopt(tutti::intrusive_pointer<tutti::memory_source> s) { sources_.push_back(std::move(s)); }
  tutti::send_result send(rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t granule) {
    note(bytes);
    return loopback::send(peer, s, bytes, granule);
  }
  tutti::send_result lend(rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t granule,
                          std::byte* back) {
    note(bytes);
    return loopback::lend(peer, s, bytes, granule, back);
  }

 private:
  void note(std::span<std::byte const> bytes) {
    for (auto const& s : sources_) {
      auto const whole = s->region(bytes.data());
      if (whole.data() <= bytes.data() && bytes.data() + bytes.size() <= whole.data() + whole.size()) {
        ++registered_count;
        return;
      }
    }
    unregistered_count += bytes.empty() ? 0U : 1U;
  }

  std::vector<tutti::intrusive_pointer<tutti::memory_source>> sources_;
};

template <class Outer, class Host>
constexpr bool has_abilities_of =
    tutti::shares_memory<Outer> == tutti::shares_memory<Host> && tutti::lends<Outer> == tutti::lends<Host> &&
    tutti::reuses_copies<Outer> == tutti::reuses_copies<Host> &&
    tutti::detects_mismatch<Outer> == tutti::detects_mismatch<Host> &&
    tutti::reports_waits<Outer> == tutti::reports_waits<Host> &&
    tutti::provides_memory<Outer> == tutti::provides_memory<Host> &&
    tutti::registers_memory<Outer> == tutti::registers_memory<Host> &&
    tutti::notices_departure<Outer> == tutti::notices_departure<Host> &&
    tutti::in_process<Outer> == tutti::in_process<Host>;
template <class Host>
constexpr bool is_forwarded =
    has_abilities_of<models::host_staged<Host>, Host> && has_abilities_of<models::host_peers<Host>, Host>;
static_assert(is_forwarded<tutti::loopback> && is_forwarded<tutti::shared_memory> && is_forwarded<registering>);
static_assert(tutti::registers_memory<registering>);

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(operations_on_host_memory, host, hosts) {
  for (rank_type const n : {2U, 3U}) {
    for (auto const& end : tutti::spawn<models::host_staged<host>>(n, [](auto& world) -> std::string {
           std::string bad = laws::reducing(world, tutti::ring{}, tutti::sum<float>{}, 1023);
           return bad.empty() ? laws::moving<laws::triple>(world, tutti::ring{}, 1023) : bad;
         })) {
      BOOST_TEST(end.value() == "");
    }
  }
}

/// Buffers are those of Host, if it provides memory.
BOOST_AUTO_TEST_CASE_TEMPLATE(operations_on_buffers_of_the_transport, host, hosts) {
  for (auto const& end : tutti::spawn<models::host_staged<host>>(3, [](auto& world) -> std::string {
         using value = std::vector<int, tutti::allocator<int>>;
         tutti::allocator<int> const allocator(world);
         if constexpr (tutti::provides_memory<host>) {
           if (!(allocator.source() == world.transport().host().memory())) {
             return "buffers are not of the host";
           }
         }
         tutti::allreduce sum{world, tutti::direct{}, tutti::sum<int>{}};
         value v(300'000, static_cast<int>(world.rank()), allocator);
         value w(v.size(), 0, allocator);
         sum(v, w);
         sum(w);
         return w == value(v.size(), 9, allocator) ? "" : "a sum is wrong";
       })) {
    BOOST_TEST(end.value() == "");
  }
}

BOOST_AUTO_TEST_CASE(a_host_is_told_of_the_slots) {
  using transport = models::host_staged<registering>;
  for (auto const& end : tutti::spawn<transport>(3, [](auto& world) -> std::string {
         models::device_stream stream;
         std::vector<int> v(300'000, 1);
         tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
         sum.enqueue(models::in_device(v), stream);
         tutti::detail::device::wait_for_staged(world, stream);
         return v.back() == 3 ? "" : "a sum is wrong";
       })) {
    BOOST_TEST(end.value() == "");
  }
  BOOST_TEST(registering::registered_count != 0U);
  BOOST_TEST(registering::unregistered_count == 0U);
}

BOOST_AUTO_TEST_CASE(nothing_is_left_behind) {
  BOOST_TEST(models::host_stager::live_pieces == 0U);
}
