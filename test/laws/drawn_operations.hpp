// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/drawn_operation.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/exscan.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/reduce.hpp>
#include <tutti/collective/reduce_scatter.hpp>
#include <tutti/collective/scan.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/reduction/traits.hpp>
#include <tutti/topology/planned.hpp>

#include <string>
#include <thread>
#include <tuple>
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
/// `Parts`: the classes of buffers, as plain_parts. `Reductions`: the reductions to draw from; `Elements`: the element
/// types of operations that move elements.
template <class World, class Parts, class Reductions, class Elements>
class drawn_operations {
 public:
  drawn_operations(World& world, std::uint64_t seed)
      : world_(world),
        n_(world.size()),
        me_(world.rank()),
        shared_dice_(seed),
        local_dice_(seed * 1'000'003 + me_ + 1) {}

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
    drawn_operation const d(shared_dice_, n_, number_++);
    --left_;
    switch (d.kind) {
      case operation_kind::allreduce:
        return Reductions::draw(d.type, [&](auto reduction) { allreduce(d, reduction); });
      case operation_kind::reduce:
        return Reductions::draw(d.type, [&](auto reduction) { reduce(d, reduction); });
      case operation_kind::reduce_scatter:
        return Reductions::draw(d.type, [&](auto reduction) { reduce_scatter(d, reduction); });
      case operation_kind::scan:
        return Reductions::draw(d.type, [&](auto reduction) { scan(d, reduction); });
      case operation_kind::exscan:
        return Reductions::draw(d.type, [&](auto reduction) { exscan(d, reduction); });
      case operation_kind::barrier:
        return barrier(d);
      default:
        return Elements::draw(d.type, [&]<class T>(T) { move<T>(d); });
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
    with_schedule<R>(d, tutti::op::allreduce{}, [&](auto topology, bool is_refused) {
      tutti::allreduce op{world_, topology, reduction};
      auto const answer = [&] { return drawn_answer(reduction, n_, d.count, d.number); };
      in_place_or_apart<T>(d, op, is_refused, answer, d.count, 0);
    });
  }

  template <class R>
  void reduce(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    with_schedule<R>(d, tutti::op::reduce{d.root}, [&](auto topology, bool is_refused) {
      tutti::reduce op{world_, topology, reduction};
      bool const at_root = me_ == d.root;
      auto const answer = [&] { return at_root ? drawn_answer(reduction, n_, d.count, d.number) : std::vector<T>(); };
      std::size_t const room_for = at_root || local_dice_.one_in(2) ? d.count : 0;
      in_place_or_apart<T>(d, op, is_refused, answer, room_for, 0, d.root);
    });
  }

  template <class R>
  void reduce_scatter(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    with_schedule<R>(d, tutti::op::reduce_scatter{}, [&](auto topology, bool is_refused) {
      tutti::reduce_scatter op{world_, topology, reduction};
      auto const answer = [&] { return block_of(drawn_answer(reduction, n_, d.count, d.number), d.blocks, me_); };
      in_place_or_apart<T>(d, op, is_refused, answer, d.blocks.length(me_), d.blocks.begin(me_), d.blocks);
    });
  }

  template <class R>
  void scan(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    with_schedule<R>(d, tutti::op::scan{}, [&](auto topology, bool is_refused) {
      tutti::scan op{world_, topology, reduction};
      auto const answer = [&] { return drawn_answer(reduction, me_ + 1, d.count, d.number); };
      in_place_or_apart<T>(d, op, is_refused, answer, d.count, 0);
    });
  }

  template <class R>
  void exscan(drawn_operation const& d, R reduction) {
    using T = typename R::value_type;
    with_schedule<R>(d, tutti::op::exscan{}, [&](auto topology, bool is_refused) {
      tutti::exscan op{world_, topology, reduction};
      auto const answer = [&] { return me_ == 0 ? std::vector<T>() : drawn_answer(reduction, me_, d.count, d.number); };
      std::size_t const room_for = me_ != 0 || local_dice_.one_in(2) ? d.count : 0;
      in_place_or_apart<T>(d, op, is_refused, answer, room_for, 0);
    });
  }

  /// Runs with one buffer or with two. The answer is the whole expected output; in place it is at `begin`.
  template <class T, class Operator, class Answer, class... Last>
  void in_place_or_apart(drawn_operation const& d, Operator& op, bool is_refused, Answer answer, std::size_t room_for,
                         std::size_t begin, Last const&... last) {
    op.segment(d.segment);
    if (d.in_place) {
      room<T> data(world_, local_dice_, drawn_vector<T>(me_, d.count, d.number));
      with_part<Operator>(d.gaps, data, [&](auto&& buffer) { call(d, is_refused, op, buffer, last...); });
      if (!is_refused) {
        if (d.kind == operation_kind::reduce_scatter) {
          data.expect_anything();  // blocks of other ranks are scratch
        }
        data.expect(begin, answer());
      }
      check(d, data);
      return;
    }
    room<T> input(world_, local_dice_, drawn_vector<T>(me_, d.count, d.number));
    room<T> output(world_, local_dice_, room_for);
    apart(d, is_refused, op, input, output, last...);
    if (!is_refused) {
      output.expect(0, answer());
    }
    check(d, input, output);
  }

  // Operations that move elements.

  template <class T>
  void broadcast(drawn_operation const& d) {
    with_schedule<no_reduction>(d, tutti::op::broadcast{d.root}, [&](auto topology, bool is_refused) {
      tutti::broadcast op{world_, topology};
      op.segment(d.segment);
      room<T> data(world_, local_dice_, drawn_vector<T>(me_, d.count, d.number));
      with_part<decltype(op)>(d.gaps, data, [&](auto&& buffer) { call(d, is_refused, op, buffer, d.root); });
      if (!is_refused) {
        data.expect(0, drawn_vector<T>(d.root, d.count, d.number));
      }
      check(d, data);
    });
  }

  template <class T>
  void allgather(drawn_operation const& d) {
    with_schedule<no_reduction>(d, tutti::op::allgather{}, [&](auto topology, bool is_refused) {
      tutti::allgather op{world_, topology};
      op.segment(d.segment);
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      auto const local_block = block_of(whole, d.blocks, me_);
      room<T> input(world_, local_dice_, local_block);
      room<T> output(world_, local_dice_, d.count);
      if (d.in_place) {
        output.write(d.blocks.begin(me_), local_block);
        with_part<decltype(op)>(d.gaps, output, [&](auto&& buffer) { call(d, is_refused, op, buffer, d.blocks); });
      } else {
        apart(d, is_refused, op, input, output, d.blocks);
      }
      if (!is_refused) {
        output.expect(0, whole);
      }
      check(d, input, output);
    });
  }

  template <class T>
  void gather(drawn_operation const& d) {
    with_schedule<no_reduction>(d, tutti::op::gather{d.root}, [&](auto topology, bool is_refused) {
      tutti::gather op{world_, topology};
      op.segment(d.segment);
      bool const at_root = me_ == d.root;
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      auto const local_block = block_of(whole, d.blocks, me_);
      room<T> input(world_, local_dice_, local_block);
      room<T> output(world_, local_dice_, at_root || local_dice_.one_in(2) ? d.count : 0);
      if (d.in_place && at_root && !d.gaps) {
        output.write(d.blocks.begin(me_), local_block);
        with_part<decltype(op)>(false, output, [&](auto&& buffer) {
          auto const place = tutti::elements(buffer).subspan(d.blocks.begin(me_), local_block.size());
          call(d, is_refused, op, place, buffer, d.root, d.blocks);
        });
      } else {
        apart(d, is_refused, op, input, output, d.root, d.blocks);
      }
      if (!is_refused && at_root) {
        output.expect(0, whole);
      }
      check(d, input, output);
    });
  }

  template <class T>
  void scatter(drawn_operation const& d) {
    with_schedule<no_reduction>(d, tutti::op::scatter{d.root}, [&](auto topology, bool is_refused) {
      tutti::scatter op{world_, topology};
      op.segment(d.segment);
      bool const at_root = me_ == d.root;
      auto const whole = drawn_vector<T>(0, d.count, d.number);
      room<T> input(world_, local_dice_, at_root ? whole : std::vector<T>());
      room<T> output(world_, local_dice_, d.blocks.length(me_));
      if (d.in_place && at_root && !d.gaps) {
        with_part<decltype(op)>(false, input, [&](auto&& buffer) {
          auto const place = tutti::elements(buffer).subspan(d.blocks.begin(me_), d.blocks.length(me_));
          call(d, is_refused, op, buffer, place, d.root, d.blocks);
        });
      } else {
        apart(d, is_refused, op, input, output, d.root, d.blocks);
        if (!is_refused) {
          output.expect(0, block_of(whole, d.blocks, me_));
        }
      }
      check(d, input, output);
    });
  }

  template <class T>
  void alltoall(drawn_operation const& d) {
    with_schedule<no_reduction>(d, tutti::op::alltoall{}, [&](auto topology, bool is_refused) {
      tutti::alltoall op{world_, topology};
      op.segment(d.segment);
      if (!d.blocks.is_equal_cut()) {
        return uneven_alltoall<T>(d, is_refused, op);
      }
      std::size_t const block_length = d.count / n_;
      room<T> input(world_, local_dice_, drawn_vector<T>(me_, block_length * n_, d.number));
      room<T> output(world_, local_dice_, block_length * n_);
      apart(d, is_refused, op, input, output);
      for (rank_type sender = 0; sender < n_ && !is_refused; ++sender) {
        output.expect(block_length * sender, block_of(drawn_vector<T>(sender, block_length * n_, d.number), n_, me_));
      }
      check(d, input, output);
    });
  }

  /// Rank r sends rank j the block of rank 2 r + j of the partition.
  template <class T, class Operator>
  void uneven_alltoall(drawn_operation const& d, bool is_refused, Operator& op) {
    auto const length = [&](rank_type sender, rank_type receiver) {
      return d.blocks.length((2 * sender + receiver) % n_);
    };
    auto const sent_by = [&](rank_type sender) {
      std::vector<std::size_t> block_lengths;
      for (rank_type r = 0; r < n_; ++r) {
        block_lengths.push_back(length(sender, r));
      }
      return tutti::partition(block_lengths);
    };
    std::vector<std::size_t> received_lengths;
    for (rank_type r = 0; r < n_; ++r) {
      received_lengths.push_back(length(r, me_));
    }
    tutti::partition const incoming(received_lengths);
    room<T> input(world_, local_dice_, drawn_vector<T>(me_, d.blocks.count(), d.number));
    room<T> output(world_, local_dice_, incoming.count());
    apart(d, is_refused, op, input, output, sent_by(me_), incoming);
    for (rank_type sender = 0; sender < n_ && !is_refused; ++sender) {
      auto const whole = drawn_vector<T>(sender, d.blocks.count(), d.number);
      output.expect(incoming.begin(sender), block_of(whole, sent_by(sender), me_));
    }
    check(d, input, output);
  }

  /// Every rank sends to one rank and receives from one.
  template <class T>
  void transfer(drawn_operation const& d) {
    tutti::send give{world_};
    tutti::recv take{world_};
    give.segment(d.segment);
    take.segment(d.segment);
    rank_type const receiver = (me_ + d.shift) % n_;
    rank_type const sender = (me_ + n_ - d.shift) % n_;
    room<T> input(world_, local_dice_, drawn_vector<T>(me_, d.count, d.number));
    room<T> output(world_, local_dice_, d.count);
    if (d.gaps ? d.gaps_in_input : local_dice_.one_in(2)) {
      with_part<decltype(give)>(d.gaps, input, [&](auto&& buffer) {
        tutti::request incoming;
        auto const place = output.part();
        if (!d.gaps) {
          incoming = take.start(place, sender);
        }
        call(d, d.gaps, give, buffer, receiver);
        incoming.wait();
      });
    } else {
      with_part<decltype(take)>(d.gaps, output, [&](auto&& buffer) {
        tutti::request outgoing;
        auto const message = input.part();
        if (!d.gaps) {
          outgoing = give.start(message, receiver);
        }
        call(d, d.gaps, take, buffer, sender);
        outgoing.wait();
      });
    }
    if (!d.gaps) {
      output.expect(0, drawn_vector<T>(sender, d.count, d.number));
    }
    check(d, input, output);
  }

  void barrier(drawn_operation const& d) {
    tutti::barrier op{world_, d.selection};
    call(d, false, op);
  }

  // Shared by all operations.

  /// Calls use(topology, refused) with the drawn schedule; `is_refused` is true if the operation must be refused.
  template <class R, class Op, class Use>
  void with_schedule(drawn_operation const& d, Op const& o, Use use) {
    auto const possible = [this](auto const& t) { return R::commutative || tutti::combines_in_rank_order<Op>(t, n_); };
    if constexpr (drawn_with_plans<R>) {
      auto const run_plan = [&](auto const& topology) {
        try {
          tutti::plan<!R::commutative> const steps(topology, o, n_, me_);
          return possible(topology) ? use(steps.view(), d.gaps) : complain(d, "is planned, but not in rank order");
        } catch (tutti::precondition_error const& e) {
          return possible(topology) ? complain(d, e.what()) : void();
        }
      };
      if (d.form == way::plan_of_selection) {
        return run_plan(d.selection);
      }
      if constexpr (tutti::offers<tutti::double_tree, Op>) {  // offered by hierarchical, too
        if (d.form == way::plan_of_hierarchical) {
          if constexpr (!R::commutative) {
            return run_plan(tutti::hierarchical{tutti::chain{}, tutti::doubling{}, d.per_host});
          } else {
            return run_plan(tutti::hierarchical{tutti::star{}, tutti::double_tree{}, d.hosts});
          }
        }
      }
    }
    use(d.selection, d.gaps || !possible(d.selection));
  }

  /// Calls use(buffer) with a room's elements, or with a view of its memory that has gaps. Over a plan the buffer is a
  /// span: the class of a buffer makes no difference to plans.
  template <class Operator, class T, class Use>
  void with_part(bool gaps, room<T> const& r, Use use) {
    using topology = std::remove_cvref_t<decltype(std::declval<Operator const&>().topology())>;
    if (gaps) {
      Parts::with_gaps(local_dice_, r, use);
    } else if constexpr (is_planned<topology>) {
      use(r.part());
    } else {
      Parts::whole(local_dice_, r, use);
    }
  }

  /// Runs an operation with an input and an output, one of them a buffer of a drawn class.
  template <class Operator, class T, class... Last>
  void apart(drawn_operation const& d, bool is_refused, Operator& op, room<T> const& input, room<T> const& output,
             Last const&... last) {
    std::span<T const> const source = input.part();
    std::span<T> const destination = output.part();
    if (d.gaps ? d.gaps_in_input : local_dice_.one_in(2)) {
      with_part<Operator>(d.gaps, input, [&](auto&& buffer) { call(d, is_refused, op, buffer, destination, last...); });
    } else {
      with_part<Operator>(d.gaps, output, [&](auto&& buffer) { call(d, is_refused, op, source, buffer, last...); });
    }
  }

  /// Starts an operation or calls it blocking, and completes it.
  template <class Operator, class... Args>
  void call(drawn_operation const& d, bool is_refused, Operator& op, Args&&... args) {
    request pending;
    std::string refusal;
    try {
      if (local_dice_.one_in(2)) {
        pending = op.start(args...);
      } else if constexpr (requires { op(args...).data(); }) {  // a view of this rank's block of the one buffer
        auto const local_block = op(args...);
        auto const buffer = tutti::elements(std::get<0>(std::tie(args...)));
        if (local_block.data() != buffer.data() + d.blocks.begin(me_) || local_block.size() != d.blocks.length(me_)) {
          complain(d, "returns another block");
        }
      } else {
        op(args...);
      }
    } catch (tutti::precondition_error const& e) {
      refusal = e.what();
    }
    if (refusal.empty() == is_refused) {
      complain(d, is_refused ? "is not refused" : refusal);
    }
    finish(pending);
  }

  /// Completes an operation. Others may begin first, and one that was already under way may end first.
  void finish(request& pending) {
    request* const outer = std::exchange(under_way_, &pending);
    if (pending.valid() && left_ != 0 && local_dice_.one_in(2)) {
      next();
    }
    under_way_ = outer;
    if (outer != nullptr && local_dice_.one_in(2)) {
      end(*outer);
    }
    end(pending);
  }
  void end(request& pending) {
    if (local_dice_.one_in(3)) {
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
  void complain(drawn_operation const& d, std::string const& reason) {
    if (complaint_.empty()) {
      complaint_ = d.text() + ": " + reason;
    }
  }

  World& world_;
  rank_type n_;
  rank_type me_;
  dice shared_dice_;  ///< all ranks throw them alike, for each operation before any other begins
  dice local_dice_;
  std::size_t number_ = 0;
  std::size_t left_ = 0;
  request* under_way_ = nullptr;
  std::string complaint_;
};

}  // namespace laws
