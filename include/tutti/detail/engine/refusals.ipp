// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/engine/refusals.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>

#include <cstdint>
#include <source_location>
#include <string>

namespace tutti::inline v0_1_0::detail::inline engine {

TUTTI_DECL void refuse_step(std::string_view reason) {
  refuse(std::source_location::current(),
         {"this step of the schedule ", reason, "; find the fault in the topology with tutti::verify"});
}

TUTTI_DECL void refuse_length(rank_type me, rank_type peer, std::size_t actual, std::size_t expected,
                              std::size_t granule) {
  std::string text = message({"received ", actual, " bytes where the schedule expects ", expected});
  if (granule > 1) {
    append(text, {", in elements of ", granule});
  }
  throw blaming(failure::protocol, text, me, peer);
}

TUTTI_DECL void refuse_ranks(std::string_view reduction, rank_type limit, rank_type ranks) {
  refuse(std::source_location::current(), {reduction, ": an accumulator holds at most ", limit,
                                           " contributions, and there are ", ranks, " ranks; use it on fewer ranks"});
}

TUTTI_DECL void refuse_rank_order(std::string_view call_text) {
  refuse(std::source_location::current(),
         {call_text,
          ": the reduction does not commute, but this schedule does not combine in rank order; take a topology that "
          "offers the operation itself and keeps rank order, such as star"});
}

TUTTI_DECL void refuse_forwarding(std::string_view topology) {
  refuse(
      std::source_location::current(),
      {"alltoall: with a length for each pair of ranks, blocks must go straight from rank to rank, and the topology ",
       topology, " forwards them; take direct"});
}

TUTTI_DECL void refuse_root(std::string_view operation, rank_type root, rank_type ranks) {
  refuse(std::source_location::current(),
         {operation, ": the root must be a rank of this communicator, below ", ranks, ", not ", root});
}

TUTTI_DECL void refuse_peer(std::string_view argument, rank_type peer, rank_type me, rank_type ranks) {
  refuse(std::source_location::current(), {argument, " must be a rank of this communicator other than this one, ", me,
                                           ", and below ", ranks, ", not ", peer});
}

TUTTI_DECL void refuse_size(std::string_view argument, std::size_t actual, std::size_t expected,
                            std::string_view advice) {
  refuse(std::source_location::current(), {argument, " must have ", expected, " elements, not ", actual, advice});
}

TUTTI_DECL void refuse_block(std::string_view argument, std::string_view total_is, std::size_t actual,
                             std::size_t total, rank_type ranks, rank_type me) {
  refuse(std::source_location::current(),
         {argument, " has ", actual, " elements, but rank ", me, "'s block of ", total, " in ", ranks, " blocks has ",
          block_size(total, ranks, me), " (tutti::block_size); change one of the two: ", total_is});
}

TUTTI_DECL void refuse_partition(std::string_view operation, rank_type blocks, rank_type ranks) {
  refuse(std::source_location::current(),
         {operation, ": the partition has ", blocks, " blocks, but this communicator has ", ranks,
          " ranks; give it a length for each rank"});
}

TUTTI_DECL void refuse_region(std::string_view operation, std::string_view argument, std::size_t count,
                              std::size_t size) {
  if (std::size_t const limit = PTRDIFF_MAX / size; count > limit) {
    refuse(std::source_location::current(), {operation, ": ", argument, " has ", count, " elements of ", size,
                                             " bytes, more than any memory; give at most ", limit});
  }
  refuse(std::source_location::current(), {operation, ": ", argument, " is null, but has ", count, " elements of ",
                                           size, " bytes; give the address of the first one"});
}

}  // namespace tutti::detail::engine
