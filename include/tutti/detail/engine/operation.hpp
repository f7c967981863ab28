// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/aggregator_share.hpp>
#include <tutti/detail/engine/pair_blocks.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/partition.hpp>
#include <tutti/extend/topology.hpp>

#include <bit>
#include <concepts>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline engine {

/// True if no rank sends a block to two others, so that segments of the longest block overlap on their way. Elsewhere a
/// rank is busy with sending that block, or receiving its parts, for as long as a way takes, and segments only cost.
template <class Topology, class Op>
concept forwards_each_block_once = std::same_as<Op, op::gather> || std::same_as<Op, op::scatter> ||
                                   requires { requires Topology::forwards_each_block_once; };

/// The segment size of a partition whose longest block is much longer than the others, if nobody has set one: ranks
/// that forward that block in one piece would wait for each other. It grows with the square root of the block, 512 KiB
/// for 8 MiB, as the best one does in the simulator, and is longer than a short block. 0: no segments.
template <class Topology, class Op>
[[nodiscard]] std::size_t segment_for(partition const& blocks, std::size_t element_bytes) noexcept {
  auto const bits = std::bit_width(blocks.longest() * element_bytes);
  return !forwards_each_block_once<Topology, Op> || blocks.share_class() == 0
             ? 0
             : std::size_t{128} << static_cast<unsigned>(bits + 1) / 2;
}

/// The segment size of blocks whose lengths no rank knows all of: no segments.
template <class Topology, class Op>
[[nodiscard]] constexpr std::size_t segment_for(pair_lengths const&, std::size_t) noexcept {
  return 0;
}

/// The part of an operation that depends on topology and payload.
template <class Topology, class Op, class Payload>
struct operation_arguments {
  // compilers.md: Members without an address, A last member without an address
  operation_arguments(Topology const& topology, Payload const& elements)
      : topology_(topology), op_{}, pairs_{}, elements_(elements) {}

  [[no_unique_address]] Topology topology_;
  [[no_unique_address]] Op op_;
  struct no_pair_blocks {};
  [[no_unique_address]] std::conditional_t<has_pair_lengths<Op>, pair_blocks, no_pair_blocks> pairs_;
  Payload elements_;

  /// Writes step `i` of rank `me`, for a schedule_view whose `arguments` points to this object.
  template <class Extent>
  static void step_at(void const* arguments, rank_type n, rank_type me, std::uint32_t i, step& result) {
    auto const& self = *static_cast<operation_arguments const*>(arguments);
    if constexpr (has_pair_lengths<Op>) {
      if (self.pairs_.are_used()) [[unlikely]] {
        result = self.topology_.at(self.op_, Extent(n), me, self.pairs_.source_step(i));
        self.pairs_.adapt(result, i, me, Topology::name);
        return;
      }
    }
    result = self.topology_.at(self.op_, Extent(n), me, i);
  }
  template <class Extent>
  [[nodiscard]] schedule_view schedule() const noexcept {
    return {.step_at = &step_at<Extent>, .arguments = this, .blocks_have_owners = blocks_have_owners<Op>};
  }
};

/// An operation of one operator. Reused from call to call, so that a prepared operation allocates nothing.
///
/// `operation_arguments` is the first base, since the other one is constructed from pointers into it.
template <class Communicator, class Topology, class Op, class Payload>
class operation : private operation_arguments<Topology, Op, Payload>,
                  public segmented_operation<Communicator, std::same_as<Op, op::transfer>> {
  using arguments_type = operation_arguments<Topology, Op, Payload>;
  using base = segmented_operation<Communicator, std::same_as<Op, op::transfer>>;
  using extent_type = std::remove_cvref_t<decltype(std::declval<Communicator>().extent())>;

 public:
  /// @param pool keeps the operation between two starts; null for the one of blocking calls
  operation(Communicator& world, Topology const& topology, Payload const& elements, operation_pool* pool = nullptr)
      : arguments_type(topology, elements),
        base(world, arguments_type::template schedule<extent_type>(),
             payload(arguments_type::elements_, contributions<Op>(world.size(), world.rank())), pool) {}

  /// Takes the operation's numbers, by which all ranks order the operations of the communicator. An empty `memory.work`
  /// is allocated if the schedule uses it. `blocks`: the lengths of the blocks, which are copied; null: they are equal.
  /// @throws std::bad_alloc, precondition_error, exceptions of topology and tracer; the epoch of the communicator has
  /// failed then
  [[gnu::always_inline]] void start(schedule_choice<Topology> const& choice, Op op, Payload const& elements,
                                    memories const& memory, std::size_t count, lengths_of<Op> const* blocks = nullptr) {
    try {
      prepare(choice, op, elements, memory, count, blocks);
      this->take_numbers();
    } catch (...) {  // peers would wait for this rank
      this->withdraw();
      throw;
    }
  }

 private:
  /// @throws std::bad_alloc, precondition_error, exceptions of the topology
  [[gnu::always_inline]] void prepare(schedule_choice<Topology> const& choice, Op op, Payload const& elements,
                                      memories const& memory, std::size_t count, lengths_of<Op> const* blocks) {
    arguments_type& arguments = *this;
    if constexpr (has_pair_lengths<Op>) {
      if (blocks != nullptr) {
        return prepare_pairs(choice, elements, memory, *blocks);
      }
    }
    std::size_t const* begins = nullptr;
    if constexpr (takes_partition<Op>) {
      if (blocks != nullptr && !blocks->is_equal_cut()) {
        begins_.assign(blocks->begins().begin(), blocks->begins().end());
        begins = begins_.data();
        this->set_own_block(blocks->length(this->world().rank()));
      }
    }
    if (!has_schedule_ || !(arguments.op_ == op)) {
      has_schedule_ = false;  // remains false if the topology throws
      arguments.op_ = op;
      if constexpr (has_pair_lengths<Op>) {
        arguments.pairs_.clear();
      }
    }
    if constexpr (std::is_empty_v<Topology>) {
      if (!has_schedule_) {
        read_schedule(true);
      }
    } else {
      arguments.topology_ = choice.topology;
      read_schedule(false);
    }
    has_schedule_ = true;
    if constexpr (std::same_as<Payload, moving>) {
      this->segments_.set_element_bytes(elements.element_bytes);
    }
    if constexpr (std::same_as<Payload, combining_any>) {
      if (reduction_.get() != elements.entry) {
        elements.entry->add_reference();
        reduction_ = intrusive_pointer(elements.entry);
        this->segments_.set_payload(payload(elements, contributions<Op>(this->world().size(), this->world().rank())));
      }
    }
    if constexpr (std::same_as<Op, op::transfer>) {
      this->segments_.set_pair(op.sender, op.receiver);
    }
    this->segments_.prepare(choice.segment_bytes, memory, count, begins);
  }

  /// Prepares an operation on blocks with a length for each pair of ranks: bytes, in one segment.
  /// @throws as prepare
  TUTTI_COLD void prepare_pairs(schedule_choice<Topology> const& choice, Payload const& elements,
                                memories const& memory, pair_lengths const& lengths) {
    arguments_type& arguments = *this;
    extent_type const extent = this->world().extent();
    has_schedule_ = false;  // equal blocks have another one
    if constexpr (!std::is_empty_v<Topology>) {
      arguments.topology_ = choice.topology;
    }
    memories const vector = arguments.pairs_.assign(lengths, elements.element_bytes,
                                                    !checks_lengths<typename Communicator::transport_type>, memory);
    this->segments_.set_schedule(
        arguments.pairs_.steps(arguments.topology_.steps(arguments.op_, extent, this->world().rank())),
        arguments.pairs_.blocks(), false);
    this->segments_.set_element_bytes(1);
    this->segments_.prepare(0, vector, lengths.outgoing.count(), arguments.pairs_.begins());
  }

  /// @throws the exceptions of the topology
  [[gnu::always_inline]] void read_schedule(bool is_constant) {
    arguments_type const& arguments = *this;
    extent_type const extent = this->world().extent();
    this->segments_.set_schedule(arguments.topology_.steps(arguments.op_, extent, this->world().rank()),
                                 arguments.topology_.blocks(arguments.op_, extent), is_constant);
    if constexpr (asks_aggregators) {
      aggregators_.read(arguments.topology_, arguments.op_, extent, this->world().rank());
      this->segments_.set_aggregators(aggregators_.shares);
    }
  }

  static constexpr bool asks_aggregators =
      aggregates<typename Communicator::transport_type> && has_aggregators<Topology, Op>;
  struct no_aggregators {};
  struct no_begins {};
  struct no_reduction {};

  bool has_schedule_ = false;  ///< the schedule's size has been read for op_
  /// Takes no space beside a bool (compilers.md: A last member without an address).
  std::conditional_t<asks_aggregators, aggregator_shares, no_aggregators> aggregators_{};
  /// The begins of the blocks of the last partition, and the end of the last block.
  std::conditional_t<takes_partition<Op>, std::vector<std::size_t>, no_begins> begins_{};
  /// Keeps the reduction of the last operation, where it is known at run time.
  std::conditional_t<std::same_as<Payload, combining_any>, intrusive_pointer<reduction_entry const>, no_reduction>
      reduction_{};
};

}  // namespace tutti::detail::engine
