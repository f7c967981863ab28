// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/any_element.hpp>
#include <tutti/any_reduction.hpp>
#include <tutti/automatic.hpp>
#include <tutti/c.h>
#include <tutti/c/detail/background.hpp>
#include <tutti/c/detail/requests.hpp>
#include <tutti/c/detail/values.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/dup.hpp>
#include <tutti/collective/exchange.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/recv_any.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/collective/split.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/topology/doubling.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::c {

/// The options of a world, with texts of its own.
struct settings {
  std::string transport;
  std::string topology;
  std::string role;
  duration deadline = std::chrono::minutes(5);
  bool background = false;
};

/// The limit for an operation that a number of nanoseconds stands for; 0: the default.
/// @throws precondition_error if it is negative
[[nodiscard]] inline duration limit_of(std::int64_t nanoseconds) {
  expects(nanoseconds >= 0, "a deadline is a number of nanoseconds, or TUTTI_NO_DEADLINE, and not ", nanoseconds);
  return nanoseconds == 0                   ? settings().deadline
         : nanoseconds == TUTTI_NO_DEADLINE ? no_deadline
                                            : std::chrono::nanoseconds(nanoseconds);
}

/// The blocks of an operation as c.h describes them: a count, or the lengths for all ranks.
class blocks {
 public:
  blocks(std::size_t count, std::size_t const* lengths, rank_type size) : count_(count) {
    if (lengths != nullptr) {
      lengths_.emplace(std::span(lengths, size));
    }
  }
  /// Calls f with the partition or the count.
  template <class F>
  decltype(auto) visit(F f) const {
    return lengths_ ? f(*lengths_) : f(count_);
  }

 private:
  std::size_t count_;
  std::optional<partition> lengths_;
};

}  // namespace tutti::detail::c

/// A world over any transport. The calls of operations return a request if `starts`, else null.
struct tutti_world {
  using request_pointer = std::unique_ptr<tutti_request>;
  using any_element = tutti::any_element;
  using any_reduction = tutti::any_reduction;
  using blocks = tutti::detail::c::blocks;
  using rank_type = tutti::rank_type;

  tutti_world() = default;
  tutti_world(tutti_world const&) = delete;
  tutti_world& operator=(tutti_world const&) = delete;
  virtual ~tutti_world() = default;

  [[nodiscard]] virtual rank_type rank() const = 0;
  [[nodiscard]] virtual rank_type size() const = 0;
  [[nodiscard]] virtual char const* name() const = 0;
  [[nodiscard]] virtual char const* transport() const = 0;
  virtual void set_deadline(tutti::duration limit) = 0;
  virtual void abort(std::string_view reason) const = 0;
  [[nodiscard]] virtual std::string explain(std::string_view operation, std::size_t bytes) = 0;
  virtual void poll() = 0;
  /// A part of this world, or null if this rank is in none.
  [[nodiscard]] virtual std::unique_ptr<tutti_world> split(std::uint32_t colour, std::int64_t key) = 0;
  [[nodiscard]] virtual std::unique_ptr<tutti_world> dup() = 0;

  virtual request_pointer allreduce(bool starts, void const* input, void* output, std::size_t count,
                                    any_reduction const& reduction) = 0;
  virtual request_pointer reduce(bool starts, void const* input, void* output, std::size_t count,
                                 any_reduction const& reduction, rank_type root) = 0;
  virtual request_pointer reduce_scatter(bool starts, void const* input, void* output, blocks const& lengths,
                                         any_reduction const& reduction) = 0;
  virtual request_pointer scan(bool starts, void const* input, void* output, std::size_t count,
                               any_reduction const& reduction) = 0;
  virtual request_pointer exscan(bool starts, void const* input, void* output, std::size_t count,
                                 any_reduction const& reduction) = 0;
  virtual request_pointer broadcast(bool starts, void* data, std::size_t count, any_element const& type,
                                    rank_type root) = 0;
  virtual request_pointer allgather(bool starts, void const* input, void* output, blocks const& lengths,
                                    any_element const& type) = 0;
  virtual request_pointer gather(bool starts, void const* input, void* output, blocks const& lengths,
                                 any_element const& type, rank_type root) = 0;
  virtual request_pointer scatter(bool starts, void const* input, void* output, blocks const& lengths,
                                  any_element const& type, rank_type root) = 0;
  virtual request_pointer alltoall(bool starts, void const* input, void* output, std::size_t count,
                                   any_element const& type) = 0;
  virtual request_pointer alltoallv(bool starts, void const* input, void* output, tutti::partition const& outgoing,
                                    tutti::partition const& incoming, any_element const& type) = 0;
  virtual request_pointer barrier(bool starts) = 0;
  virtual request_pointer send(bool starts, void const* data, std::size_t count, any_element const& type,
                               rank_type receiver) = 0;
  virtual request_pointer recv(bool starts, void* data, std::size_t count, any_element const& type,
                               rank_type sender) = 0;
  virtual request_pointer recv_any(bool starts, void* data, std::size_t count, any_element const& type,
                                   rank_type& sender) = 0;
  virtual request_pointer exchange(bool starts, std::span<tutti_message> messages) = 0;

  /// True in a process that has forked from the one which made this world.
  [[nodiscard]] bool is_inherited() const noexcept {
    return fork_generation_ != tutti::detail::fork_guard::generation();
  }

 private:
  std::uint32_t fork_generation_ = tutti::detail::fork_guard::generation();
};

namespace tutti::inline v0_1_0::detail::c {

/// A world over one transport.
template <class Transport>
class world_over final : public tutti_world {
  using communicator = tutti::communicator<Transport>;
  using background = c::background<communicator>;
  using order = typename background::order;

 public:
  world_over(communicator&& world, settings const& options)
      : settings_(options), world_(std::move(world)), best_(world_, {.keep = true}) {
    prefer(settings_.topology);
    if (settings_.background) {
      background_.emplace(world_);
    }
  }
  ~world_over() override {
    while (!observed_requests_.empty()) {
      (*observed_requests_.begin())->cancel();
    }
  }

  rank_type rank() const override { return world_.rank(); }
  rank_type size() const override { return world_.size(); }
  char const* name() const override { return world_.name().c_str(); }
  char const* transport() const override { return Transport::name.data(); }

  void set_deadline(duration limit) override {
    run_between([&] {
      world_.deadline(limit);
      for_each_operator([&](auto& o) { o.deadline(limit); });
    });
  }
  void abort(std::string_view reason) const override { world_.abort(reason); }
  void poll() override {
    if (background_) {
      return;
    }
    world_.poll();
    if (time_point const now = world_.transport().now(); now - last_look_ >= between_looks) {
      last_look_ = now;
      access::state(world_).probe();  // deadlines and lost ranks
    }
  }
  std::string explain(std::string_view operation, std::size_t bytes) override {
    std::string text;
    run_between([&] {
      for_each_op([&](auto op) {
        if (name_of(op) == operation) {
          text = best_.explain(op, bytes);
        }
      });
    });
    return text.empty() ? "no operation with a choice of schedules is called \"" + std::string(operation) + "\"" : text;
  }

  std::unique_ptr<tutti_world> split(std::uint32_t colour, std::int64_t key) override {
    std::unique_ptr<tutti_world> part;
    run_alone([&] {
      if (communicator new_part = tutti::split(world_, colour, key)) {
        part = std::make_unique<world_over>(std::move(new_part), settings_);
      }
    });
    return part;
  }
  std::unique_ptr<tutti_world> dup() override {
    std::unique_ptr<tutti_world> copy;
    run_alone([&] { copy = std::make_unique<world_over>(tutti::dup(world_), settings_); });
    return copy;
  }

  request_pointer allreduce(bool starts, void const* input, void* output, std::size_t count,
                            any_reduction const& reduction) override {
    return run(starts, order::collective, allreduce_, reduction, input, output, count);
  }
  request_pointer reduce(bool starts, void const* input, void* output, std::size_t count,
                         any_reduction const& reduction, rank_type root) override {
    return run(starts, order::collective, reduce_, reduction, input, output, count, root);
  }
  request_pointer reduce_scatter(bool starts, void const* input, void* output, blocks const& lengths,
                                 any_reduction const& reduction) override {
    return lengths.visit([&](auto const& extent) {
      return input == output ? run(starts, order::collective, reduce_scatter_, reduction, output, extent)
                             : run(starts, order::collective, reduce_scatter_, reduction, input, output, extent);
    });
  }
  request_pointer scan(bool starts, void const* input, void* output, std::size_t count,
                       any_reduction const& reduction) override {
    return run(starts, order::collective, scan_, reduction, input, output, count);
  }
  request_pointer exscan(bool starts, void const* input, void* output, std::size_t count,
                         any_reduction const& reduction) override {
    return run(starts, order::collective, exscan_, reduction, input, output, count);
  }
  request_pointer broadcast(bool starts, void* data, std::size_t count, any_element const& type,
                            rank_type root) override {
    return run(starts, order::collective, broadcast_, data, count, type, root);
  }
  request_pointer allgather(bool starts, void const* input, void* output, blocks const& lengths,
                            any_element const& type) override {
    return lengths.visit([&](auto const& extent) {
      return input == output ? run(starts, order::collective, allgather_, output, extent, type)
                             : run(starts, order::collective, allgather_, input, output, extent, type);
    });
  }
  request_pointer gather(bool starts, void const* input, void* output, blocks const& lengths, any_element const& type,
                         rank_type root) override {
    return lengths.visit(
        [&](auto const& extent) { return run(starts, order::collective, gather_, input, output, extent, type, root); });
  }
  request_pointer scatter(bool starts, void const* input, void* output, blocks const& lengths, any_element const& type,
                          rank_type root) override {
    return lengths.visit([&](auto const& extent) {
      return run(starts, order::collective, scatter_, input, output, extent, type, root);
    });
  }
  request_pointer alltoall(bool starts, void const* input, void* output, std::size_t count,
                           any_element const& type) override {
    return run(starts, order::collective, alltoall_, input, output, count, type);
  }
  request_pointer alltoallv(bool starts, void const* input, void* output, partition const& outgoing,
                            partition const& incoming, any_element const& type) override {
    return run(starts, order::collective, alltoall_, input, output, outgoing, incoming, type);
  }
  request_pointer barrier(bool starts) override { return run(starts, order::collective, barrier_); }
  request_pointer send(bool starts, void const* data, std::size_t count, any_element const& type,
                       rank_type receiver) override {
    return run(starts, order::message, send_, data, count, type, receiver);
  }
  request_pointer recv(bool starts, void* data, std::size_t count, any_element const& type, rank_type sender) override {
    return run(starts, order::message, recv_, data, count, type, sender);
  }
  request_pointer recv_any(bool starts, void* data, std::size_t count, any_element const& type,
                           rank_type& sender) override {
    return run(starts, order::message, recv_any_, data, count, type, reference(sender));
  }
  request_pointer exchange(bool starts, std::span<tutti_message> messages) override {
    auto const list = std::make_shared<message_list>(messages, starts);
    request_pointer pending = run(starts, order::message, exchange_, list);
    if (!starts) {
      list->tell_lengths(messages);
    }
    return pending;
  }

 private:
  /// A variable that an operation writes, as an argument that is copied.
  struct reference {
    explicit reference(rank_type& variable) : target(&variable) {}
    operator rank_type&() const noexcept { return *target; }
    rank_type* target;
  };
  /// A receive from any rank with the calls of the other operators.
  class any_receiver {
   public:
    explicit any_receiver(communicator& world) : operator_(world) {}
    void operator()(void* data, std::size_t count, any_element const& type, reference sender) {
      operator_.start(data, count, type, *sender.target).wait();
    }
    request start(void* data, std::size_t count, any_element const& type, reference sender) {
      return operator_.start(data, count, type, *sender.target);
    }
    void deadline(duration limit) { operator_.deadline(limit); }

   private:
    tutti::recv_any<communicator> operator_;
  };
  /// The messages of one exchange.
  class message_list {
   public:
    message_list(std::span<tutti_message const> messages, bool starts) : messages_(messages.begin(), messages.end()) {
      for (tutti_message const& m : messages) {
        any_element const type = element_of(m.type);
        if (m.any_length != 0) {
          expects(!starts, "tutti_exchange: messages of any length need a call that waits; give no request");
          containers_.emplace_back(m.data, m.count, type);
        }
      }
    }
    /// Lists the messages in an exchange.
    void fill(tutti::exchange<communicator>& exchange) {
      exchange.clear();
      auto next = containers_.begin();
      for (tutti_message const& m : messages_) {
        any_element const type = element_of(m.type);
        if (m.any_length != 0) {
          m.receives != 0 ? exchange.recv(any_length(*next), m.rank) : exchange.send(any_length(*next), m.rank);
          ++next;
        } else {
          m.receives != 0 ? exchange.recv(m.data, m.count, type, m.rank) : exchange.send(m.data, m.count, type, m.rank);
        }
      }
    }
    void tell_lengths(std::span<tutti_message> messages) const {
      auto next = containers_.begin();
      for (tutti_message& m : messages) {
        if (m.any_length != 0) {
          m.count = (next++)->size();
        }
      }
    }

   private:
    std::vector<tutti_message> messages_;
    std::deque<any_elements> containers_;
  };
  /// An exchange with the calls of the other operators.
  class message_exchange {
   public:
    explicit message_exchange(communicator& world) : operator_(world) {}
    void operator()(std::shared_ptr<message_list> const& list) { start(list).wait(); }
    request start(std::shared_ptr<message_list> const& list) {
      list->fill(operator_);
      return operator_.start();
    }
    void deadline(duration limit) { operator_.deadline(limit); }

   private:
    tutti::exchange<communicator> operator_;
  };

  /// Runs or starts an operation. Arguments that `starts` keeps are copied.
  template <class Operator, class... Arguments>
  request_pointer run(bool starts, order kind, Operator& operation, Arguments const&... arguments) {
    if (!background_) {
      if (starts) {
        return std::make_unique<direct_request>(observed_requests_, operation.start(arguments...));
      }
      operation(arguments...);
      return nullptr;
    }
    if (starts) {
      return background_->start(kind, [&operation, arguments...] { return operation.start(arguments...); });
    }
    background_->run(kind, [&] { return operation.start(arguments...); });
    return nullptr;
  }
  template <class F>
  void run_alone(F f) {
    background_ ? background_->run_alone(f) : f();
  }
  template <class F>
  void run_between(F f) {
    background_ ? background_->run_between(f) : f();
  }

  template <class F>
  void for_each_operator(F f) {
    f(allreduce_), f(reduce_), f(reduce_scatter_), f(scan_), f(exscan_), f(broadcast_), f(allgather_), f(gather_);
    f(scatter_), f(alltoall_), f(barrier_), f(send_), f(recv_), f(recv_any_), f(exchange_);
  }
  template <class F>
  static void for_each_op(F f) {
    f(op::allreduce{}), f(op::reduce{}), f(op::reduce_scatter{}), f(op::scan{}), f(op::exscan{}), f(op::broadcast{});
    f(op::allgather{}), f(op::gather{}), f(op::scatter{}), f(op::alltoall{});
  }
  template <class Op>
  [[nodiscard]] static std::string_view name_of(Op) noexcept {
    return tutti::name(verify::kind_of<Op>);
  }
  /// Prefers a topology for all operations that it offers, or what a text of preferences says.
  void prefer(std::string const& wish) {
    if (wish.empty()) {
      return;
    }
    if (wish.find_first_of("=:") != std::string::npos) {
      best_.prefer(wish);
      return;
    }
    for_each_op([&](auto op) { best_.prefer(std::string(name_of(op)) + "=" + wish); });
  }

  settings settings_;
  direct_request::list observed_requests_;
  time_point last_look_{};
  communicator world_;
  automatic best_;
  tutti::allreduce<communicator, automatic, any_reduction> allreduce_{world_, best_, any_sum()};
  tutti::reduce<communicator, automatic, any_reduction> reduce_{world_, best_, any_sum()};
  tutti::reduce_scatter<communicator, automatic, any_reduction> reduce_scatter_{world_, best_, any_sum()};
  tutti::scan<communicator, automatic, any_reduction> scan_{world_, best_, any_sum()};
  tutti::exscan<communicator, automatic, any_reduction> exscan_{world_, best_, any_sum()};
  tutti::broadcast<communicator, automatic> broadcast_{world_, best_};
  tutti::allgather<communicator, automatic> allgather_{world_, best_};
  tutti::gather<communicator, automatic> gather_{world_, best_};
  tutti::scatter<communicator, automatic> scatter_{world_, best_};
  tutti::alltoall<communicator, automatic> alltoall_{world_, best_};
  tutti::barrier<communicator, doubling> barrier_{world_, doubling{}};
  tutti::send<communicator> send_{world_};
  tutti::recv<communicator> recv_{world_};
  any_receiver recv_any_{world_};
  message_exchange exchange_{world_};
  std::optional<background> background_;  ///< ends before the operators

  [[nodiscard]] static any_reduction any_sum() { return reduction_of(TUTTI_FLOAT32, TUTTI_SUM); }
};

}  // namespace tutti::detail::c
