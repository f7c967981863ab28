// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <support/watched.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/mpl/list.hpp>

#include <tuple>
#include <type_traits>

/// The transports that laws are tested over, for BOOST_AUTO_TEST_CASE_TEMPLATE.
namespace support {

/// True if transports between processes are left out. The thread sanitizer does not see other processes, and the
/// second compiler reads the same law over each transport.
inline constexpr bool without_processes = is_watched_by_thread_sanitizer || is_read_by_second_compiler;

/// Leaves a law out. (Boost.Test takes no empty std::tuple.)
using no_transport = boost::mpl::list<>;

/// For laws whose ranks are processes.
using transports_of_processes =
    std::conditional_t<without_processes, no_transport, std::tuple<tutti::shared_memory, tutti::tcp>>;

using only_shared_memory = std::conditional_t<without_processes, no_transport, std::tuple<tutti::shared_memory>>;

/// For laws of a transport's behaviour.
using transports = std::conditional_t<without_processes, std::tuple<tutti::loopback>,
                                      std::tuple<tutti::loopback, tutti::shared_memory, tutti::tcp>>;

/// For laws of the engine, which is the same over each transport: sanitizers check it over one.
using transports_of_the_engine = std::conditional_t<is_watched, std::tuple<tutti::loopback>, transports>;

}  // namespace support
