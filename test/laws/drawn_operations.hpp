// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/drawn_operation.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/topology/planned.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace laws {

/// Types to draw from.
template <class... Ts>
struct types {
  /// Calls use(a value of type number `number`).
  template <class Use>
  static void draw(std::size_t number, Use use) {
    number %= sizeof...(Ts);
    (void)((number-- == 0 ? (use(Ts{}), true) : false) || ...);
  }
};

/// Stands for a reduction in operations that only move elements.
struct no_reduction {
  static constexpr bool commutative = true;
};

/// True if plans are drawn, too. A plan depends on two properties of a reduction only: if it commutes, and if
/// accumulators are elements.
template <class R>
inline constexpr bool drawn_with_plans = !R::commutative || !tutti::accumulates_in_elements<R>;
template <>
inline constexpr bool drawn_with_plans<no_reduction> = true;

template <class Topology>
inline constexpr bool is_planned = false;
template <bool InOrder>
inline constexpr bool is_planned<tutti::planned_schedule<InOrder>> = true;

/// The law of all operators at once. Operation, reduction, schedule, hosts, length, root, segment, class of buffer,
/// part of memory and the operations under way at once are drawn. Every rank ends with the sequential answer in its
/// place and with nothing else changed; if a buffer has gaps, or the schedule cannot keep the order of ranks, every
/// rank refuses.
///
/// `Parts`: the classes of buffers, as plain_parts. `Reductions`: the reductions to draw from; `Moved`: the element
/// types of operations that move elements.
template <class World, class Parts, class Reductions, class Moved>
class drawn_operations {
 public:
  drawn_operations(World& world, std::uint64_t seed)
      : world_(world), n_(world.size()), me_(world.rank()), common_(seed), own_(seed * 1'000'003 + me_ + 1) {}

  /// Runs this many operations; returns a complaint or "".
  [[nodiscard]] std::string run(std::size_t count) {
    for (left_ = count; left_ != 0;) {
      next();
    }
    return complaint_;
  }

 private:
  using request = tutti::request;

  void next() {
    drawn_operation const d(common_, n_, number_++);
    --left_;
    switch (d.kind) {
      case operation_kind::allreduce:
        return Reductions::draw(d.type, [&](auto reduction) { allreduce(d, reduction); });
      case operation_kind::reduce:
        return Reductions::draw(d.type, [&](auto reduction) { reduce(d, reduction); });
      case operation_kind::reduce_scatter:
        return Reductions::draw(d.type, [&](auto reduction) { reduce_scatter(d, reduction); });
      case operation_kind::barrier:
        return barrier(d);
      default:
        return Moved::draw(d.type, [&]<class T>(T) { move<T>(d); });
    }
  }

  template <class T>
  void move(drawn_operation const& d) {
    switch (d.kind) {
      case operation_kind::broadcast:
        return broadcast<T>(d);
      case operation_kind::gather:
        return gather<T>(d);
      case operation_kind::scatter:
        return scatter<T>(d);
      case operation_kind::allgather:
        return allgather<T>(d);
      case operation_kind::alltoall:
        return alltoall<T>(d);
      default:
        return transfer<T>(d);
    }
  }

  // Operations that reduce.

  template <class R>
  void allreduce(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    over<R>(d, tutti::op::allreduce{}, [&](auto topology, bool refused) {
      tutti::allreduce op{world_, topology, reduction};
      auto const answer = [&] { return drawn_answer(reduction, n_, d.count, d.number); };
      in_place_or_apart<T>(d, op, refused, answer, d.count, 0);
    });
  }

  template <class R>
  void reduce(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    over<R>(d, tutti::op::reduce{d.root}, [&](auto topology, bool refused) {
      tutti::reduce op{world_, topology, reduction};
      bool const at_root = me_ == d.root;
      auto const answer = [&] { return at_root ? drawn_answer(reduction, n_, d.count, d.number) : std::vector<T>(); };
      std::size_t const room_for = at_root || own_.one_in(2) ? d.count : 0;
      in_place_or_apart<T>(d, op, refused, answer, room_for, 0, d.root);
    });
  }

  template <class R>
  void reduce_scatter(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    over<R>(d, tutti::op::reduce_scatter{}, [&](auto topology, bool refused) {
      tutti::reduce_scatter op{world_, topology, reduction};
      auto const answer = [&] { return block_of(drawn_answer(reduction, n_, d.count, d.number), n_, me_); };
      in_place_or_apart<T>(d, op, refused, answer, block(d.count), block_begin(d.count));
    });
  }

  /// Runs with one buffer or with two. The answer is the whole expected output; in place it is at `begin`.
  template <class T, class Operator, class Answer, class... Root>
  void in_place_or_apart(drawn_operation const& d, Operator& op, bool refused, Answer answer, std::size_t room_for,
                         std::size_t begin, Root... root) {
    op.segment(d.segment);
    if (d.in_place) {
      room<T> data(world_, own_, drawn_vector<T>(me_, d.count, d.number));
      with_part<Operator>(d.gaps, data, [&](auto&& buffer) { call(d, refused, op, buffer, root...); });
      if (!refused) {
        if (d.kind == operation_kind::reduce_scatter) {
          data.expect_anything();  // blocks of other ranks are scratch
        }
        data.expect(begin, answer());
      }
      check(d, data);
      return;
    }
    room<T> input(world_, own_, drawn_vector<T>(me_, d.count, d.number));
    room<T> output(world_, own_, room_for);
    apart(d, refused, op, input, output, root...);
    if (!refused) {
      output.expect(0, answer());
    }
    check(d, input, output);
  }

  // Operations that move elements.

  template <class T>
  void broadcast(drawn_operation const& d) {
    over<no_reduction>(d, tutti::op::broadcast{d.root}, [&](auto topology, bool refused) {
      tutti::broadcast op{world_, topology};
      op.segment(d.segment);
      room<T> data(world_, own_, drawn_vector<T>(me_, d.count, d.number));
      with_part<decltype(op)>(d.gaps, data, [&](auto&& buffer) { call(d, refused, op, buffer, d.root); });
      if (!refused) {
        data.expect(0, drawn_vector<T>(d.root, d.count, d.number));
      }
      check(d, data);
    });
  }

  template <class T>
  void allgather(drawn_operation const& d) {
    over<no_reduction>(d, tutti::op::allgather{}, [&](auto topology, bool refused) {
      tutti::allgather op{world_, topology};
      op.segment(d.segment);
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      auto const mine = block_of(whole, n_, me_);
      room<T> input(world_, own_, mine);
      room<T> output(world_, own_, d.count);
      if (d.in_place) {
        output.put(block_begin(d.count), mine);
        with_part<decltype(op)>(d.gaps, output, [&](auto&& buffer) { call(d, refused, op, buffer); });
      } else {
        apart(d, refused, op, input, output);
      }
      if (!refused) {
        output.expect(0, whole);
      }
      check(d, input, output);
    });
  }

  template <class T>
  void gather(drawn_operation const& d) {
    over<no_reduction>(d, tutti::op::gather{d.root}, [&](auto topology, bool refused) {
      tutti::gather op{world_, topology};
      op.segment(d.segment);
      bool const at_root = me_ == d.root;
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      auto const mine = block_of(whole, n_, me_);
      room<T> input(world_, own_, mine);
      room<T> output(world_, own_, at_root || own_.one_in(2) ? d.count : 0);
      if (d.in_place && at_root && !d.gaps) {
        output.put(block_begin(d.count), mine);
        with_part<decltype(op)>(false, output, [&](auto&& all) {
          auto const place = tutti::elements(all).subspan(block_begin(d.count), mine.size());
          call(d, refused, op, place, all, d.root, d.count);
        });
      } else {
        apart(d, refused, op, input, output, d.root, d.count);
      }
      if (!refused && at_root) {
        output.expect(0, whole);
      }
      check(d, input, output);
    });
  }

  template <class T>
  void scatter(drawn_operation const& d) {
    over<no_reduction>(d, tutti::op::scatter{d.root}, [&](auto topology, bool refused) {
      tutti::scatter op{world_, topology};
      op.segment(d.segment);
      bool const at_root = me_ == d.root;
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      room<T> input(world_, own_, at_root ? whole : std::vector<T>());
      room<T> output(world_, own_, block(d.count));
      if (d.in_place && at_root && !d.gaps) {
        with_part<decltype(op)>(false, input, [&](auto&& all) {
          auto const place = tutti::elements(all).subspan(block_begin(d.count), block(d.count));
          call(d, refused, op, all, place, d.root, d.count);
        });
      } else {
        apart(d, refused, op, input, output, d.root, d.count);
        if (!refused) {
          output.expect(0, block_of(whole, n_, me_));
        }
      }
      check(d, input, output);
    });
  }

  template <class T>
  void alltoall(drawn_operation const& d) {
    over<no_reduction>(d, tutti::op::alltoall{}, [&](auto topology, bool refused) {
      tutti::alltoall op{world_, topology};
      op.segment(d.segment);
      std::size_t const each = d.count / n_;
      room<T> input(world_, own_, drawn_vector<T>(me_, each * n_, d.number));
      room<T> output(world_, own_, each * n_);
      apart(d, refused, op, input, output);
      for (rank_type from = 0; from < n_ && !refused; ++from) {
        output.expect(each * from, block_of(drawn_vector<T>(from, each * n_, d.number), n_, me_));
      }
      check(d, input, output);
    });
  }

  /// Every rank sends to one rank and receives from one.
  template <class T>
  void transfer(drawn_operation const& d) {
    tutti::send give{world_};
    tutti::recv take{world_};
    give.segment(d.segment);
    take.segment(d.segment);
    rank_type const to = (me_ + d.shift) % n_;
    rank_type const from = (me_ + n_ - d.shift) % n_;
    room<T> input(world_, own_, drawn_vector<T>(me_, d.count, d.number));
    room<T> output(world_, own_, d.count);
    if (d.gaps ? d.gaps_in_input : own_.one_in(2)) {
      with_part<decltype(give)>(d.gaps, input, [&](auto&& buffer) {
        tutti::request incoming;
        auto const into = output.part();
        if (!d.gaps) {
          incoming = take.start(into, from);
        }
        call(d, d.gaps, give, buffer, to);
        incoming.wait();
      });
    } else {
      with_part<decltype(take)>(d.gaps, output, [&](auto&& buffer) {
        tutti::request outgoing;
        auto const what = input.part();
        if (!d.gaps) {
          outgoing = give.start(what, to);
        }
        call(d, d.gaps, take, buffer, from);
        outgoing.wait();
      });
    }
    if (!d.gaps) {
      output.expect(0, drawn_vector<T>(from, d.count, d.number));
    }
    check(d, input, output);
  }

  void barrier(drawn_operation const& d) {
    tutti::barrier op{world_, d.picked};
    call(d, false, op);
  }

  // Shared by all operations.

  /// Calls use(topology, refused) with the drawn schedule; `refused` is true if the operation must be refused.
  template <class R, class Op, class Use>
  void over(drawn_operation const& d, Op const& o, Use use) {
    auto const possible = [this](auto const& t) { return R::commutative || tutti::combines_in_order<Op>(t, n_); };
    if constexpr (drawn_with_plans<R>) {
      auto const planned = [&](auto const& topology) {
        try {
          tutti::plan<!R::commutative> const steps(topology, o, n_, me_);
          return possible(topology) ? use(steps.view(), d.gaps) : complain(d, "is planned, but not in rank order");
        } catch (tutti::precondition_error const& why) {
          return possible(topology) ? complain(d, why.what()) : void();
        }
      };
      if (d.how == way::plan_of_selection) {
        return planned(d.picked);
      }
      if constexpr (tutti::offers<tutti::double_tree, Op>) {  // offered by hierarchical, too
        if (d.how == way::plan_of_hierarchical) {
          if constexpr (!R::commutative) {
            return planned(tutti::hierarchical{tutti::chain{}, tutti::doubling{}, d.per_host});
          } else {
            return planned(tutti::hierarchical{tutti::star{}, tutti::double_tree{}, d.hosts});
          }
        }
      }
    }
    use(d.picked, d.gaps || !possible(d.picked));
  }

  /// Calls use(buffer) with a room's elements, or with a view of its memory that has gaps. Over a plan the buffer is a
  /// span: the class of a buffer makes no difference to plans.
  template <class Operator, class T, class Use>
  void with_part(bool gaps, room<T> const& r, Use use) {
    using topology = std::remove_cvref_t<decltype(std::declval<Operator const&>().topology())>;
    if (gaps) {
      Parts::with_gaps(own_, r, use);
    } else if constexpr (is_planned<topology>) {
      use(r.part());
    } else {
      Parts::whole(own_, r, use);
    }
  }

  /// Runs an operation with an input and an output, one of them a buffer of a drawn class.
  template <class Operator, class T, class... Root>
  void apart(drawn_operation const& d, bool refused, Operator& op, room<T> const& input, room<T> const& output,
             Root... root) {
    std::span<T const> const from = input.part();
    std::span<T> const to = output.part();
    if (d.gaps ? d.gaps_in_input : own_.one_in(2)) {
      with_part<Operator>(d.gaps, input, [&](auto&& buffer) { call(d, refused, op, buffer, to, root...); });
    } else {
      with_part<Operator>(d.gaps, output, [&](auto&& buffer) { call(d, refused, op, from, buffer, root...); });
    }
  }

  /// Starts an operation or calls it blocking, and completes it.
  template <class Operator, class... Args>
  void call(drawn_operation const& d, bool refused, Operator& op, Args&&... args) {
    request pending;
    std::string refusal;
    try {
      if (own_.one_in(2)) {
        pending = op.start(args...);
      } else if constexpr (requires { op(args...).data(); }) {  // a view of this rank's block of the one buffer
        auto const mine = op(args...);
        auto const all = (tutti::elements(args), ...);
        if (mine.data() != all.data() + block_begin(all.size()) || mine.size() != block(all.size())) {
          complain(d, "returns another block");
        }
      } else {
        op(args...);
      }
    } catch (tutti::precondition_error const& why) {
      refusal = why.what();
    }
    if (refusal.empty() == refused) {
      complain(d, refused ? "is not refused" : refusal);
    }
    finish(pending);
  }

  /// Completes an operation. Others may begin first, and one that was already under way may end first.
  void finish(request& pending) {
    request* const around = std::exchange(under_way_, &pending);
    if (pending.valid() && left_ != 0 && own_.one_in(2)) {
      next();
    }
    under_way_ = around;
    if (around != nullptr && own_.one_in(2)) {
      end(*around);
    }
    end(pending);
  }
  void end(request& pending) {
    if (own_.one_in(3)) {
      while (!pending.test()) {
        std::this_thread::yield();
      }
    } else {
      pending.wait();
    }
  }

  template <class... Rooms>
  void check(drawn_operation const& d, Rooms const&... rooms) {
    if (!(rooms.as_expected() && ...)) {
      complain(d, "is wrong, or something else was written");
    }
  }
  void complain(drawn_operation const& d, std::string const& what) {
    if (complaint_.empty()) {
      complaint_ = d.text() + ": " + what;
    }
  }

  [[nodiscard]] std::size_t block_begin(std::size_t count) const { return tutti::block_begin(count, n_, me_); }
  [[nodiscard]] std::size_t block(std::size_t count) const { return tutti::block_size(count, n_, me_); }

  World& world_;
  rank_type n_;
  rank_type me_;
  dice common_;  ///< all ranks throw them alike, for each operation before any other begins
  dice own_;
  std::size_t number_ = 0;
  std::size_t left_ = 0;
  request* under_way_ = nullptr;
  std::string complaint_;
};

}  // namespace laws
