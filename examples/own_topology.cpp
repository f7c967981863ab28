// SPDX-License-Identifier: Apache-2.0
//
// A topology of your own: an allreduce over a star of pairs. Each odd rank sends to its even neighbour, the even ones
// send to rank 0, and the result returns the same way. It runs on every transport, with nothing else changed.
#include <tutti/tutti.hpp>
#include <tutti/transport/tcp.hpp>

#include <cstdio>
#include <vector>

struct pairs_then_star {
  // Required of a topology
  static constexpr std::string_view name = "pairs_then_star";
  static constexpr bool keeps_rank_order = true;           // the lower ranks are always on the left
  static constexpr bool sends_raw_contributions = false;   // partial sums travel

  // Required to offer allreduce: the number of blocks of the vector, and step i of rank me
  constexpr std::uint32_t blocks(tutti::op::allreduce, tutti::rank_type) const { return 1; }
  constexpr std::uint32_t steps(tutti::op::allreduce, tutti::rank_type n, tutti::rank_type me) const {
    tutti::rank_type const other_pairs = (n + 1) / 2 - 1;  // pairs beside that of rank 0
    return n == 1 ? 1 : me % 2 == 1 ? 2 : (me + 1 < n ? 2 : 0) + (me == 0 ? 2 * other_pairs : 2);
  }
  constexpr tutti::step at(tutti::op::allreduce, tutti::rank_type n, tutti::rank_type me, std::uint32_t i) const {
    using tutti::action, tutti::memory;
    constexpr tutti::block_range block{0, 1};
    bool const has_neighbour = me + 1 < n;
    memory const operand = has_neighbour ? memory::work : memory::input;  // an even rank's, once its pair is summed
    if (n == 1) {
      return {.send = {.memory = memory::input, .blocks = block},
              .receive = {.memory = memory::output, .blocks = block}};
    }
    if (me % 2 == 1) {
      return i == 0 ? tutti::step{.send = {me - 1, memory::input, block}}
                    : tutti::step{.receive = {me - 1, memory::output, block}, .sender_memory = memory::output};
    }
    bool const ends = me == 0 && n <= 2;
    if (has_neighbour && i-- == 0) {
      return {.receive = {me + 1, ends ? memory::output : memory::work, block},
              .action = action::fold_right, .local_memory = memory::input, .sender_memory = memory::input};
    }
    tutti::rank_type const other_pairs = (n + 1) / 2 - 1;
    if (me != 0 && i == 0) return {.send = {0, operand, block}};
    if (me != 0 && i == 1) return {.receive = {0, memory::output, block}, .sender_memory = memory::output};
    if (me == 0 && i < other_pairs) {
      tutti::rank_type const sender = 2 * (i + 1);
      return {.receive = {sender, i + 1 == other_pairs ? memory::output : memory::work, block},
              .action = action::fold_right, .sender_memory = sender + 1 < n ? memory::work : memory::input};
    }
    if (me == 0 && i < 2 * other_pairs) return {.send = {2 * (i - other_pairs + 1), memory::output, block}};
    return {.send = {me + 1, memory::output, block}};
  }
};
static_assert(tutti::offers<pairs_then_star, tutti::op::allreduce>);

template <class Transport>
bool works() {
  bool good = true;
  for (tutti::rank_type n = 1; n <= 6; ++n) {
    auto const results = tutti::spawn<Transport>(n, [](auto& world) {
      std::vector<int> v(1000, static_cast<int>(world.rank()) + 1);
      tutti::allreduce{world, pairs_then_star{}, tutti::sum<int>{}}(v);
      return v.back();
    });
    for (auto const& r : results) {
      good = good && r.value() == static_cast<int>(n * (n + 1) / 2);
    }
  }
  std::printf("%-14s %s\n", std::string(Transport::name).c_str(), good ? "right" : "wrong");
  return good;
}

int main() {
  bool const loopback = works<tutti::loopback>();
  bool const shared_memory = works<tutti::shared_memory>();
  bool const tcp = works<tutti::tcp>();
  return loopback && shared_memory && tcp ? 0 : 1;
}
