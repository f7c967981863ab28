// SPDX-License-Identifier: Apache-2.0
//
// The library's cold code, for programs whose units define TUTTI_SEPARATE_COMPILATION: add this file to one of them, or
// link tutti::compiled, which does both.

#ifndef TUTTI_SEPARATE_COMPILATION
#error "define TUTTI_SEPARATE_COMPILATION for all units of the program, this one too, or link tutti::compiled"
#endif

#include <tutti/detail/core/linkage.hpp>

#undef TUTTI_COMPILED
#define TUTTI_COMPILED

#include <tutti/detail/impl/bootstrap/channel.ipp>
#include <tutti/detail/impl/bootstrap/child.ipp>
#include <tutti/detail/impl/bootstrap/directory.ipp>
#include <tutti/detail/impl/bootstrap/environment.ipp>
#include <tutti/detail/impl/bootstrap/file_rendezvous.ipp>
#include <tutti/detail/impl/bootstrap/hosts.ipp>
#include <tutti/detail/impl/bootstrap/launched_rendezvous.ipp>
#include <tutti/detail/impl/bootstrap/member.ipp>
#include <tutti/detail/impl/bootstrap/membership.ipp>
#include <tutti/detail/impl/bootstrap/node_list.ipp>
#include <tutti/detail/impl/bootstrap/outcome.ipp>
#include <tutti/detail/impl/bootstrap/processes.ipp>
#include <tutti/detail/impl/bootstrap/shrink_meeting.ipp>
#include <tutti/detail/impl/bootstrap/shrink_message.ipp>
#include <tutti/detail/impl/bootstrap/shrink_notice.ipp>
#include <tutti/detail/impl/bootstrap/survivors.ipp>
#include <tutti/detail/impl/bootstrap/tcp_hello.ipp>
#include <tutti/detail/impl/bootstrap/tcp_rendezvous.ipp>
#include <tutti/detail/impl/bootstrap/threads.ipp>
#include <tutti/detail/impl/collective/group_rendezvous.ipp>
#include <tutti/detail/impl/communicator/joint_rendezvous.ipp>
#include <tutti/detail/impl/communicator/rank_state.ipp>
#include <tutti/detail/impl/communicator/relative.ipp>
#include <tutti/detail/impl/core/control_groups.ipp>
#include <tutti/detail/impl/core/core_set.ipp>
#include <tutti/detail/impl/core/descriptor.ipp>
#include <tutti/detail/impl/core/duties.ipp>
#include <tutti/detail/impl/core/error.ipp>
#include <tutti/detail/impl/core/expects.ipp>
#include <tutti/detail/impl/core/inheritance.ipp>
#include <tutti/detail/impl/core/joined_threads.ipp>
#include <tutti/detail/impl/core/message.ipp>
#include <tutti/detail/impl/core/mismatch.ipp>
#include <tutti/detail/impl/core/node_identity.ipp>
#include <tutti/detail/impl/core/number_text.ipp>
#include <tutti/detail/impl/core/operation.ipp>
#include <tutti/detail/impl/core/recorder.ipp>
#include <tutti/detail/impl/core/standard_numbers.ipp>
#include <tutti/detail/impl/engine/inquest.ipp>
#include <tutti/detail/impl/engine/refusals.ipp>
#include <tutti/detail/impl/engine/unfinished.ipp>
#include <tutti/detail/impl/engine/wait.ipp>
#include <tutti/detail/impl/fpga_nic/in_process_network.ipp>
#include <tutti/detail/impl/fpga_nic/key_file.ipp>
#include <tutti/detail/impl/fpga_nic/udp_socket.ipp>
#include <tutti/detail/impl/locality/either_descriptor.ipp>
#include <tutti/detail/impl/multicast/networks.ipp>
#include <tutti/detail/impl/net/address.ipp>
#include <tutti/detail/impl/net/nonce.ipp>
#include <tutti/detail/impl/net/socket.ipp>
#include <tutti/detail/impl/reduction/instructions.ipp>
#include <tutti/detail/impl/shared_memory/call_board.ipp>
#include <tutti/detail/impl/shared_memory/foreign_memory.ipp>
#include <tutti/detail/impl/shared_memory/loopback_world.ipp>
#include <tutti/detail/impl/shared_memory/memory_left.ipp>
#include <tutti/detail/impl/shared_memory/peer_processes.ipp>
#include <tutti/detail/impl/shared_memory/rank_mailboxes.ipp>
#include <tutti/detail/impl/shared_memory/shared_file.ipp>
#include <tutti/detail/impl/tcp/address.ipp>
#include <tutti/detail/impl/tcp/agreement.ipp>
#include <tutti/detail/impl/tcp/connect_attempt.ipp>
#include <tutti/detail/impl/tcp/connector.ipp>
#include <tutti/detail/impl/tcp/fault_broadcast.ipp>
#include <tutti/detail/impl/tcp/hello.ipp>
#include <tutti/detail/impl/tcp/listener.ipp>
#include <tutti/detail/impl/tcp/mesh.ipp>
#include <tutti/detail/impl/tcp/tuning.ipp>
#include <tutti/detail/impl/topology/planned.ipp>
#include <tutti/detail/instances/arithmetic.hpp>
#include <tutti/detail/instances/loopback.hpp>
#include <tutti/detail/instances/shared_memory.hpp>
#include <tutti/detail/instances/tcp.hpp>
