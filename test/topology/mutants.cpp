// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <laws/topology.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/chain.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/double_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/hierarchical.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/topology/star.hpp>

// Mutation test of the verifier: changes each step of each schedule in every way that a programming error might, and
// expects the verifier to refuse all of these schedules.

namespace {

using tutti::action;
using tutti::loan;
using tutti::memory;
using tutti::rank_type;
using tutti::step;
namespace op = tutti::op;

enum class slip {
  wrong_receiver,
  wrong_sender,
  send_next_block,
  receive_next_block,
  send_one_more_block,
  receive_one_more_block,
  send_nothing,
  receive_nothing,
  fold_on_the_other_side,
  copy_for_fold,
  fold_for_copy,
  mistaken_arrival,
  mistaken_local,
  receive_elsewhere,
  send_from_elsewhere,
  other_loan,
  leave_out,
  count
};

constexpr memory other_than(memory s) {
  return s == memory::work ? memory::output : memory::work;
}

/// The step with the slip, or the step itself if the slip does not apply.
step apply_slip(step s, slip error, rank_type n, std::uint32_t blocks, bool keeps_rank_order) {
  bool const folds = s.receives() && s.action != action::copy;
  switch (error) {
    case slip::wrong_receiver:
      s.send.peer = s.sends() ? (s.send.peer + 1) % n : s.send.peer;
      break;
    case slip::wrong_sender:
      s.receive.peer = s.receives() ? (s.receive.peer + 1) % n : s.receive.peer;
      break;
    case slip::send_next_block:
      s.send.blocks.first =
          s.sends() && s.send.blocks.count < blocks ? (s.send.blocks.first + 1) % blocks : s.send.blocks.first;
      break;
    case slip::receive_next_block:
      s.receive.blocks.first = s.receives() && s.receive.blocks.count < blocks ? (s.receive.blocks.first + 1) % blocks
                                                                               : s.receive.blocks.first;
      break;
    case slip::send_one_more_block:
      s.send.blocks.count += s.sends() ? 1U : 0U;
      break;
    case slip::receive_one_more_block:
      s.receive.blocks.count += s.receives() ? 1U : 0U;
      break;
    case slip::send_nothing:
      s.send = s.sends() ? tutti::endpoint{} : s.send;
      break;
    case slip::receive_nothing:
      s.receive = s.receives() ? tutti::endpoint{} : s.receive;
      break;
    case slip::fold_on_the_other_side:
      if (folds && keeps_rank_order) {
        s.action = s.action == action::fold_left ? action::fold_right : action::fold_left;
      }
      break;
    case slip::copy_for_fold:
      s.action = action::copy;
      break;
    case slip::fold_for_copy:
      s.action = s.receives() && s.action == action::copy ? action::fold_left : s.action;
      break;
    case slip::mistaken_arrival:
      s.sender_memory = s.receives() ? other_than(s.sender_memory) : s.sender_memory;
      break;
    case slip::mistaken_local:
      s.local_memory = !folds ? s.local_memory : s.local_memory == memory::input ? memory::work : memory::input;
      break;
    case slip::receive_elsewhere:
      s.receive.memory = s.receives() || !s.sends() ? other_than(s.receive.memory) : s.receive.memory;
      break;
    case slip::send_from_elsewhere:
      s.send.memory = s.sends() || !s.receives() ? other_than(s.send.memory) : s.send.memory;
      break;
    case slip::other_loan:
      if (s.sends()) {
        s.loan = s.loan == loan::none ? loan::lend : loan::none;
      }
      break;
    case slip::leave_out:
    case slip::count:
      break;
  }
  return s;
}

/// True if the slip changes no result: a helper begins with the identity, so it may copy or fold on either side.
bool is_harmless(slip error, step const& s, bool helper) {
  return helper && s.local_memory == memory::input &&
         (error == slip::fold_on_the_other_side ||
          (error == slip::copy_for_fold && s.sender_memory == s.receive.memory));
}

template <class Base, class Op>
struct mutant {
  static constexpr std::string_view name = "mutant";
  static constexpr bool keeps_rank_order = Base::keeps_rank_order;
  static constexpr bool sends_raw_contributions = Base::sends_raw_contributions;

  slip error;
  rank_type rank;
  std::uint32_t place;

  std::uint32_t blocks(Op o, rank_type n) const { return Base{}.blocks(o, n); }
  rank_type aggregators(Op o, rank_type n) const
    requires tutti::has_aggregators<Base, Op>
  {
    return Base{}.aggregators(o, n);
  }
  tutti::star without_aggregators() const { return {}; }
  std::uint32_t steps(Op o, rank_type n, rank_type me) const {
    return Base{}.steps(o, n, me) - (me == rank && error == slip::leave_out ? 1 : 0);
  }
  step at(Op o, rank_type n, rank_type me, std::uint32_t i) const {
    if (me != rank) {
      return Base{}.at(o, n, me, i);
    }
    if (error == slip::leave_out) {
      return Base{}.at(o, n, me, i < place ? i : i + 1);
    }
    const step s = Base{}.at(o, n, me, i);
    return i == place ? apply_slip(s, error, n, blocks(o, n), keeps_rank_order) : s;
  }
};

/// True if some ranks receive blocks twice; the memory of the second copy does not matter.
template <class Base, class Op>
constexpr bool receives_again = std::same_as<Base, tutti::butterfly> && std::same_as<Op, op::broadcast>;

template <class Base, class Op>
void refuse_all(Op const& o, rank_type n) {
  unsigned mutant_count = 0;
  for (rank_type r = 0; r < members(Base{}, o, n); ++r) {
    for (std::uint32_t i = 0; i < Base{}.steps(o, n, r); ++i) {
      for (int error = 0; error < static_cast<int>(slip::count); ++error) {
        mutant<Base, Op> const m{static_cast<slip>(error), r, i};
        if (m.error == slip::receive_elsewhere && receives_again<Base, Op>) {
          continue;
        }
        if (is_harmless(m.error, Base{}.at(o, n, r, i), r >= n)) {
          continue;
        }
        if (m.error != slip::leave_out && m.at(o, n, r, i) == Base{}.at(o, n, r, i)) {
          continue;
        }
        ++mutant_count;
        auto const v = tutti::verify(m, o, n);
        BOOST_TEST(!v, Base::name << " " << tutti::name(tutti::detail::verify::kind_of<Op>) << " of " << n << ": slip "
                                  << error << " in step " << i << " of rank " << r << " goes unnoticed");
        BOOST_TEST(((v.finishes && v.ends_match && v.exact && v.keeps_rank_order && v.raw) == bool(v)));
      }
    }
  }
  BOOST_TEST(mutant_count > 5 * (n - 1));
}

/// A slip of all ranks, with which both ends of each message agree: sums stay accumulators, which are copied to
/// `output`. Each rank finishes only its own sum, in an additional last step.
template <class Base, class Op>
struct never_finishing : Base {
  static constexpr std::string_view name = "unfinished";

  std::uint32_t steps(Op o, rank_type n, rank_type me) const { return Base::steps(o, n, me) + finishes(o, n, me); }
  step at(Op o, rank_type n, rank_type me, std::uint32_t i) const {
    if (i == Base::steps(o, n, me)) {
      step const last = Base::at(o, n, me, finishing(o, n, me));
      return {.send = {tutti::no_rank, memory::work, last.receive.blocks},
              .receive = {tutti::no_rank, memory::output, last.receive.blocks}};
    }
    step s = Base::at(o, n, me, i);
    auto const keep = [](memory& m) { m = m == memory::output ? memory::work : m; };
    if (s.sends()) {
      s.loan = loan::none;
      keep(s.send.memory);
    }
    if (s.receives()) {
      keep(s.sender_memory);
      if (s.action != action::copy) {
        keep(s.receive.memory);
      }
    }
    return s;
  }

  /// The number of the step that finishes, or the number of steps.
  std::uint32_t finishing(Op o, rank_type n, rank_type me) const {
    std::uint32_t i = 0;
    for (; i < Base::steps(o, n, me); ++i) {
      step const s = Base::at(o, n, me, i);
      if (s.receives() && s.action != action::copy && s.receive.memory == memory::output) {
        break;
      }
    }
    return i;
  }
  std::uint32_t finishes(Op o, rank_type n, rank_type me) const {
    return finishing(o, n, me) == Base::steps(o, n, me) ? 0 : 1;
  }
};

template <class Base>
void refuse_all_of() {
  tutti::detail::verify::for_each_offered<Base>([]<class Op>() {
    for (rank_type const n : {2U, 5U, 6U}) {
      laws::at_some_roots<Op>(n, [n](Op const& o) { refuse_all<Base>(o, n); });
    }
  });
}

BOOST_AUTO_TEST_CASE(sums_that_are_copied_before_they_are_finished) {
  auto const expect_refusal = []<class Base>(Base const&, rank_type n) {
    auto const v = tutti::verify(never_finishing<Base, op::allreduce>{}, op::allreduce{}, n);
    BOOST_TEST(v.reason == "copies into a memory that holds something else", Base::name << ": " << v.reason);
    BOOST_TEST(!v.exact);
  };
  for (rank_type const n : {2U, 5U, 6U}) {
    expect_refusal(tutti::star{}, n);
    expect_refusal(tutti::chain{}, n);
    expect_refusal(tutti::binary_tree{}, n);
    expect_refusal(tutti::direct{}, n);
  }
  for (rank_type const n : {5U, 6U}) {
    expect_refusal(tutti::ring{}, n);
    expect_refusal(tutti::doubling{}, n);
    expect_refusal(tutti::butterfly{}, n);
  }
}

/// Hosts of RanksPerHost ranks.
template <class Inner, class Outer, rank_type RanksPerHost>
struct hosts_of : tutti::hierarchical<Inner, Outer> {
  hosts_of() : tutti::hierarchical<Inner, Outer>(Inner{}, Outer{}, RanksPerHost) {}
};

BOOST_AUTO_TEST_CASE(hierarchical) {
  refuse_all_of<hosts_of<tutti::binary_tree, tutti::doubling, 2>>();
  refuse_all_of<hosts_of<tutti::ring, tutti::ring, 3>>();
  refuse_all_of<hosts_of<tutti::chain, tutti::double_tree, 2>>();
}
BOOST_AUTO_TEST_CASE(in_network) {
  refuse_all_of<tutti::in_network>();
  refuse_all_of<hosts_of<tutti::binary_tree, tutti::in_network, 2>>();
}
BOOST_AUTO_TEST_CASE(ring) {
  refuse_all_of<tutti::ring>();
}
BOOST_AUTO_TEST_CASE(chain) {
  refuse_all_of<tutti::chain>();
}
BOOST_AUTO_TEST_CASE(binary_tree) {
  refuse_all_of<tutti::binary_tree>();
}
BOOST_AUTO_TEST_CASE(double_tree) {
  refuse_all_of<tutti::double_tree>();
}
BOOST_AUTO_TEST_CASE(doubling) {
  refuse_all_of<tutti::doubling>();
}
BOOST_AUTO_TEST_CASE(butterfly) {
  refuse_all_of<tutti::butterfly>();
}
BOOST_AUTO_TEST_CASE(star) {
  refuse_all_of<tutti::star>();
}
BOOST_AUTO_TEST_CASE(direct) {
  refuse_all_of<tutti::direct>();
}

}  // namespace
