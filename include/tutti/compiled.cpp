// SPDX-License-Identifier: Apache-2.0
//
// The library's cold code, for programs whose units define TUTTI_SEPARATE_COMPILATION: add this file to one of them, or
// link tutti::compiled, which does both.

#ifndef TUTTI_SEPARATE_COMPILATION
#error "define TUTTI_SEPARATE_COMPILATION for all units of the program, this one too, or link tutti::compiled"
#endif

#include <tutti/detail/base/linkage.hpp>

#undef TUTTI_COMPILED
#define TUTTI_COMPILED

#include <tutti/any_reduction.ipp>
#include <tutti/collective/group_rendezvous.ipp>
#include <tutti/detail/base/message.ipp>
#include <tutti/detail/base/number_text.ipp>
#include <tutti/detail/bootstrap/agreement.ipp>
#include <tutti/detail/bootstrap/channel.ipp>
#include <tutti/detail/bootstrap/child.ipp>
#include <tutti/detail/bootstrap/claim.ipp>
#include <tutti/detail/bootstrap/directory.ipp>
#include <tutti/detail/bootstrap/doorway.ipp>
#include <tutti/detail/bootstrap/environment_reader.ipp>
#include <tutti/detail/bootstrap/file_rendezvous.ipp>
#include <tutti/detail/bootstrap/hosts.ipp>
#include <tutti/detail/bootstrap/launched_rendezvous.ipp>
#include <tutti/detail/bootstrap/membership.ipp>
#include <tutti/detail/bootstrap/newcomer.ipp>
#include <tutti/detail/bootstrap/node_list.ipp>
#include <tutti/detail/bootstrap/processes.ipp>
#include <tutti/detail/bootstrap/shrink_meeting.ipp>
#include <tutti/detail/bootstrap/shrink_message.ipp>
#include <tutti/detail/bootstrap/shrink_notice.ipp>
#include <tutti/detail/bootstrap/survivors.ipp>
#include <tutti/detail/bootstrap/tcp_rendezvous.ipp>
#include <tutti/detail/bootstrap/tcp_side.ipp>
#include <tutti/detail/bootstrap/threads.ipp>
#include <tutti/detail/communicator/joint_operation.ipp>
#include <tutti/detail/communicator/joint_rendezvous.ipp>
#include <tutti/detail/communicator/rank_state.ipp>
#include <tutti/detail/communicator/relative.ipp>
#include <tutti/detail/communicator/straggler_search.ipp>
#include <tutti/detail/communicator/untyped_operation.ipp>
#include <tutti/detail/communicator/wait.ipp>
#include <tutti/detail/core/control_groups.ipp>
#include <tutti/detail/core/core_set.ipp>
#include <tutti/detail/core/descriptor.ipp>
#include <tutti/detail/core/dumps.ipp>
#include <tutti/detail/core/fork_guard.ipp>
#include <tutti/detail/core/joined_threads.ipp>
#include <tutti/detail/core/mismatch.ipp>
#include <tutti/detail/core/node_identity.ipp>
#include <tutti/detail/core/operations_page.ipp>
#include <tutti/detail/core/process_look.ipp>
#include <tutti/detail/core/progress_list.ipp>
#include <tutti/detail/core/standard_numbers.ipp>
#include <tutti/detail/engine/pair_blocks.ipp>
#include <tutti/detail/engine/reduction_entry.ipp>
#include <tutti/detail/engine/refusals.ipp>
#include <tutti/detail/locality/either_descriptor.ipp>
#include <tutti/detail/net/address.ipp>
#include <tutti/detail/net/nonce.ipp>
#include <tutti/detail/net/proof.ipp>
#include <tutti/detail/net/secret_file.ipp>
#include <tutti/detail/net/socket.ipp>
#include <tutti/detail/reduction/instructions.ipp>
#include <tutti/detail/shared_memory/call_board.ipp>
#include <tutti/detail/shared_memory/foreign_memory.ipp>
#include <tutti/detail/shared_memory/loopback_world.ipp>
#include <tutti/detail/shared_memory/memory_left.ipp>
#include <tutti/detail/shared_memory/peer_processes.ipp>
#include <tutti/detail/shared_memory/rank_mailboxes.ipp>
#include <tutti/detail/shared_memory/shared_file.ipp>
#include <tutti/detail/tcp/call_checker.ipp>
#include <tutti/detail/tcp/connect_attempt.ipp>
#include <tutti/detail/tcp/connector.ipp>
#include <tutti/detail/tcp/endpoint_info.ipp>
#include <tutti/detail/tcp/fault_broadcast.ipp>
#include <tutti/detail/tcp/hello.ipp>
#include <tutti/detail/tcp/hello_prover.ipp>
#include <tutti/detail/tcp/listener.ipp>
#include <tutti/detail/tcp/mesh.ipp>
#include <tutti/detail/tcp/socket_options.ipp>
#include <tutti/detail/tcp/wire.ipp>
#include <tutti/environment.ipp>
#include <tutti/extend/any_element.ipp>
#include <tutti/extend/error.ipp>
#include <tutti/extend/expects.ipp>
#include <tutti/extend/member.ipp>
#include <tutti/extend/operation.ipp>
#include <tutti/extend/outcome.ipp>
#include <tutti/extend/partition.ipp>
#include <tutti/extend/recorder.ipp>
#include <tutti/topology/planned.ipp>

// A component that may have been left out.
#if __has_include(<tutti/in_network/detail/fpga_nic/in_process_network.ipp>)
#include <tutti/in_network/detail/fpga_nic/in_process_network.ipp>
#include <tutti/in_network/detail/multicast/networks.ipp>
#include <tutti/in_network/detail/udp/in_process_medium.ipp>
#include <tutti/in_network/detail/udp/job_seal.ipp>
#include <tutti/in_network/detail/udp/key_file.ipp>
#include <tutti/in_network/detail/udp/udp_socket.ipp>
#endif

#include <tutti/detail/instances/arithmetic.hpp>
#include <tutti/detail/instances/loopback.hpp>
#include <tutti/detail/instances/shared_memory.hpp>
#include <tutti/detail/instances/tcp.hpp>
