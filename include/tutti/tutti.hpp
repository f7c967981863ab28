// SPDX-License-Identifier: Apache-2.0
#pragma once

// The parts of tutti that need nothing but the standard library and POSIX: worlds of threads and of processes of one
// host, every topology, reduction and collective. Other parts have headers of their own: <tutti/join.hpp> for a world
// that a launcher started; <tutti/transport/tcp.hpp> and others for further transports; <tutti/asio.hpp> for
// Boost.Asio.

#include <tutti/collective/allgather.hpp>       // IWYU pragma: export
#include <tutti/collective/allocator.hpp>       // IWYU pragma: export
#include <tutti/collective/allreduce.hpp>       // IWYU pragma: export
#include <tutti/collective/alltoall.hpp>        // IWYU pragma: export
#include <tutti/collective/barrier.hpp>         // IWYU pragma: export
#include <tutti/collective/broadcast.hpp>       // IWYU pragma: export
#include <tutti/collective/communicator.hpp>    // IWYU pragma: export
#include <tutti/collective/dup.hpp>             // IWYU pragma: export
#include <tutti/collective/exchange.hpp>        // IWYU pragma: export
#include <tutti/collective/exscan.hpp>          // IWYU pragma: export
#include <tutti/collective/gather.hpp>          // IWYU pragma: export
#include <tutti/collective/recv_any.hpp>        // IWYU pragma: export
#include <tutti/collective/reduce.hpp>          // IWYU pragma: export
#include <tutti/collective/reduce_scatter.hpp>  // IWYU pragma: export
#include <tutti/collective/scan.hpp>            // IWYU pragma: export
#include <tutti/collective/scatter.hpp>         // IWYU pragma: export
#include <tutti/collective/send_recv.hpp>       // IWYU pragma: export
#include <tutti/collective/split.hpp>           // IWYU pragma: export
#include <tutti/collective/when_any.hpp>        // IWYU pragma: export
#include <tutti/extend/any_length.hpp>          // IWYU pragma: export
#include <tutti/extend/bfloat16.hpp>            // IWYU pragma: export
#include <tutti/extend/half.hpp>                // IWYU pragma: export
#include <tutti/extend/partition.hpp>           // IWYU pragma: export
#include <tutti/reduction/accumulate_in.hpp>    // IWYU pragma: export
#include <tutti/reduction/arithmetic.hpp>       // IWYU pragma: export
#include <tutti/reduction/bitwise.hpp>          // IWYU pragma: export
#include <tutti/reduction/location.hpp>         // IWYU pragma: export
#include <tutti/reduction/logical.hpp>          // IWYU pragma: export
#include <tutti/reduction/reduce_with.hpp>      // IWYU pragma: export
#include <tutti/reduction/saturating_sum.hpp>   // IWYU pragma: export
#include <tutti/spawn.hpp>                      // IWYU pragma: export
#include <tutti/topology/binary_tree.hpp>       // IWYU pragma: export
#include <tutti/topology/butterfly.hpp>         // IWYU pragma: export
#include <tutti/topology/chain.hpp>             // IWYU pragma: export
#include <tutti/topology/direct.hpp>            // IWYU pragma: export
#include <tutti/topology/double_tree.hpp>       // IWYU pragma: export
#include <tutti/topology/doubling.hpp>          // IWYU pragma: export
#include <tutti/topology/hierarchical.hpp>      // IWYU pragma: export
#include <tutti/topology/planned.hpp>           // IWYU pragma: export
#include <tutti/topology/ring.hpp>              // IWYU pragma: export
#include <tutti/topology/star.hpp>              // IWYU pragma: export
#include <tutti/transport/loopback.hpp>         // IWYU pragma: export
#include <tutti/transport/shared_memory.hpp>    // IWYU pragma: export
