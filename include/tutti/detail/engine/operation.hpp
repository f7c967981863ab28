// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/helper_share.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/run_context.hpp>
#include <tutti/detail/engine/segmented_operation.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline engine {

/// The part of an operation that depends on topology and payload.
template <class Topology, class Op, class Payload>
struct work {
  // compilers.md: Members without an address
  work(Topology const& topology, Payload const& elements) : topology_(topology), op_{}, elements_(elements) {}

  [[no_unique_address]] Topology topology_;
  [[no_unique_address]] Op op_;
  Payload elements_;

  /// Writes step `i` of rank `me`, for a schedule_view whose `of` points to this object.
  template <class Extent>
  static void step_at(void const* of, rank_type n, rank_type me, std::uint32_t i, step& to) {
    auto const& self = *static_cast<work const*>(of);
    to = self.topology_.at(self.op_, Extent(n), me, i);
  }
  template <class Extent>
  [[nodiscard]] schedule_view schedule() const noexcept {
    return {.step_at = &step_at<Extent>, .of = this, .blocks_have_owners = blocks_have_owners<Op>};
  }
};

/// An operation of one operator. Reused from call to call, so that a prepared operation allocates nothing.
///
/// `work` is the first base, since the other one is constructed from pointers into it.
template <class Communicator, class Topology, class Op, class Payload>
class operation : private work<Topology, Op, Payload>,
                  public segmented_operation<Communicator, std::same_as<Op, op::transfer>> {
  using work_type = work<Topology, Op, Payload>;
  using base = segmented_operation<Communicator, std::same_as<Op, op::transfer>>;
  using extent_type = std::remove_cvref_t<decltype(std::declval<Communicator>().extent())>;

 public:
  /// @param pool keeps the operation between two starts; null for the one of blocking calls
  operation(Communicator& world, Topology const& topology, Payload const& elements, operation_pool* pool = nullptr)
      : work_type(topology, elements),
        base(world, work_type::template schedule<extent_type>(), payload(work_type::elements_, world.size()), pool) {}

  /// Takes the operation's place in the order of the communicator. An empty `memory.work` is allocated if the schedule
  /// uses it.
  /// @throws std::bad_alloc, precondition_error; the operation has no place then, and the epoch has failed
  [[gnu::always_inline]] void start(schedule_choice<Topology> const& by, Op op, Payload const& elements,
                                    memories const& memory, std::size_t count) {
    work_type& mine = *this;
    try {
      if (!known_ || !(mine.op_ == op)) {
        known_ = false;  // remains false if the topology throws
        mine.op_ = op;
      }
      if constexpr (std::is_empty_v<Topology>) {
        if (!known_) {
          read_schedule(true);
        }
      } else {
        mine.topology_ = by.topology;
        read_schedule(false);
      }
      known_ = true;
      if constexpr (std::same_as<Payload, moving>) {
        this->segments_.set_element_bytes(elements.element_bytes);
      }
      if constexpr (std::same_as<Op, op::transfer>) {
        this->segments_.set_pair(op.from, op.to);
      }
      this->segments_.prepare(by.segment_bytes, memory, count);
    } catch (...) {  // peers would wait for this rank
      this->withdraw();
      throw;
    }
    this->take_place();
  }

 private:
  [[gnu::always_inline]] void read_schedule(bool stays) {
    work_type const& mine = *this;
    extent_type const extent = this->world().extent();
    this->segments_.set_schedule(mine.topology_.steps(mine.op_, extent, this->world().rank()),
                                 mine.topology_.blocks(mine.op_, extent), stays);
    if constexpr (asks_helpers) {
      helpers_.read(mine.topology_, mine.op_, extent, this->world().rank());
      this->segments_.set_helpers(helpers_.shares);
    }
  }

  static constexpr bool asks_helpers =
      aggregates<typename Communicator::transport_type> && has_aggregators<Topology, Op>;
  struct nothing {};

  bool known_ = false;  ///< the schedule's size has been read for op_
  /// Takes no space beside a bool (compilers.md: A last member without an address).
  std::conditional_t<asks_helpers, helper_shares, nothing> helpers_{};
};

}  // namespace tutti::detail::engine
