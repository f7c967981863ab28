// SPDX-License-Identifier: Apache-2.0
//
// The library for C: compile this file, or link tutti::c, and include <tutti/c.h>.
//
//     c++ -std=c++20 -O2 -pthread -fPIC -shared -fvisibility=hidden -I include include/tutti/c/c.cpp
//         -Wl,--version-script=include/tutti/c/symbols.map -o libtutti_c.so

#include <tutti/c.h>
#include <tutti/c/detail/failures.hpp>
#include <tutti/c/detail/requests.hpp>
#include <tutti/c/detail/store_rendezvous.hpp>
#include <tutti/c/detail/values.hpp>
#include <tutti/c/detail/world.hpp>
#include <tutti/collective/communicator.hpp>
#include <tutti/detail/bootstrap/launched_rendezvous.hpp>
#include <tutti/environment.hpp>
#include <tutti/transport/by_locality.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>
#include <tutti/version.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::c {
namespace {

#define TUTTI_TEXT_OF(number) #number
#define TUTTI_DOTTED(a, b, c) TUTTI_TEXT_OF(a) "." TUTTI_TEXT_OF(b) "." TUTTI_TEXT_OF(c)
constexpr char version[] = TUTTI_DOTTED(TUTTI_VERSION_MAJOR, TUTTI_VERSION_MINOR, TUTTI_VERSION_PATCH);
#undef TUTTI_DOTTED
#undef TUTTI_TEXT_OF

/// The options of a program, which may know fewer of them than this library.
settings read(tutti_options const* source) {
  tutti_options options = TUTTI_OPTIONS;
  if (source != nullptr) {
    expects(source->size != 0 && source->size <= sizeof options,
            "tutti_options: initialise it with TUTTI_OPTIONS; its size is ", source->size, ", and this library knows ",
            sizeof options, " bytes");
    std::copy_n(reinterpret_cast<char const*>(source), source->size, reinterpret_cast<char*>(&options));
  }
  auto const text = [](char const* t) { return std::string(t == nullptr ? "" : t); };
  settings s{.transport = text(options.transport), .topology = text(options.topology), .role = text(options.role)};
  s.background = options.background != 0;
  s.deadline = limit_of(options.deadline);
  return s;
}

template <class Transport, class Meet>
std::unique_ptr<tutti_world> open(Meet& meet, settings const& options_of_world) {
  world_options<Transport> options{.deadline = options_of_world.deadline, .role = options_of_world.role};
  return std::make_unique<world_over<Transport>>(tutti::communicator<Transport>(meet, options), options_of_world);
}
/// A world over the transport of this name. All ranks must give the same, and ranks that name none pick the same.
template <class Meet>
std::unique_ptr<tutti_world> open_named(Meet& meet, settings const& options_of_world) {
  using between_hosts = by_locality<tutti::shared_memory, tutti::tcp>;
  std::string name = options_of_world.transport;
  expects(name.empty() || name == tutti::shared_memory::name || name == tutti::tcp::name || name == between_hosts::name,
          "there is no transport \"", name, "\"; take shared_memory, tcp or by_locality, or none for the best of them");
  std::string const library =
      "tutti " + std::string(version) + ", transport " + (name.empty() ? "of its choice" : name);
  auto const libraries = meet.exchange(library);
  for (rank_type r = 0; r < meet.size(); ++r) {
    if (libraries[r] != library) {
      throw error(failure::join, "rank " + std::to_string(r) + " joins with \"" + libraries[r].substr(0, 80) +
                                     "\", and this rank with \"" + library +
                                     "\": give all ranks the same library and transport")
          .set_ranks(meet.rank(), {r});
    }
  }
  if (name.empty()) {
    name = are_on_one_host(meet) ? tutti::shared_memory::name : between_hosts::name;
  }
  return name == tutti::shared_memory::name ? open<tutti::shared_memory>(meet, options_of_world)
         : name == tutti::tcp::name         ? open<tutti::tcp>(meet, options_of_world)
                                            : open<between_hosts>(meet, options_of_world);
}

template <class World>
World& usable(World* world) {
  expects(world != nullptr, "the world is NULL; join one first");
  expects(!world->is_inherited(), "this process has forked from the one that joined the world; join another one here");
  return *world;
}

/// Runs or starts an operation, as `request` says.
template <class F>
int operate(tutti_world* world, tutti_request** request, tutti_error* error, F call) noexcept {
  if (request != nullptr) {
    *request = nullptr;
  }
  return run_guarded(error, [&] {
    std::unique_ptr<tutti_request> new_request = call(usable(world), request != nullptr);
    if (request != nullptr) {
      *request = new_request.release();
    }
    return TUTTI_OK;
  });
}

void expect_own(tutti_request const& pending) {
  expects(!pending.is_inherited(), "this process has forked from the one that started the operation; wait there");
}

/// Waits for a request by `wait`, which returns false if it has not ended. Frees it if it has ended, also by an error.
template <class F>
int finish(tutti_request** request, tutti_error* error, F wait) noexcept {
  if (request == nullptr || *request == nullptr) {
    return TUTTI_OK;
  }
  bool is_over = false;
  int const result = run_guarded(error, [&] {
    expect_own(**request);
    struct at_end {
      ~at_end() { is_over = pending.has_ended(); }
      tutti_request& pending;
      bool& is_over;
    } const note{**request, is_over};
    return wait(**request) ? TUTTI_OK : TUTTI_NOT_YET;
  });
  if (is_over) {
    delete *request;
    *request = nullptr;
  }
  return result;
}

}  // namespace
}  // namespace tutti::detail::c

using tutti::detail::c::element_of;
using tutti::detail::c::operate;
using tutti::detail::c::reduction_of;
using tutti::detail::c::run_guarded;
using tutti::detail::c::usable;

extern "C" {

uint32_t tutti_interface(void) {
  return TUTTI_C_INTERFACE;
}
char const* tutti_version(void) {
  return tutti::detail::c::version;
}

int tutti_op_create(char const* name, tutti_type type, tutti_function function, void* context, int commutes,
                    tutti_op* op, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(name != nullptr && op != nullptr, "tutti_op_create: name and op must not be NULL");
    tutti::any_reduction const reduction =
        commutes != 0 ? tutti::any_reduction(name, element_of(type), function, context, tutti::commutative)
                      : tutti::any_reduction(name, element_of(type), function, context);
    *op = tutti::detail::c::functions().add(reduction, type);
    return TUTTI_OK;
  });
}
void tutti_op_free(tutti_op op) {
  tutti::detail::c::functions().remove(op);
}

int tutti_join(tutti_options const* options, tutti_world** world, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(world != nullptr, "tutti_join: the pointer to the world is NULL");
    *world = nullptr;
    auto options_of_world = tutti::detail::c::read(options);
    tutti::environment const environment = tutti::read_environment();
    if (options_of_world.role.empty()) {
      options_of_world.role = environment.role;
    }
    tutti::detail::launched_rendezvous meet(environment);
    *world = tutti::detail::c::open_named(meet, options_of_world).release();
    return TUTTI_OK;
  });
}
int tutti_join_store(tutti_store const* store, uint32_t rank, uint32_t size, tutti_options const* options,
                     tutti_world** world, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(world != nullptr && store != nullptr, "tutti_join_store: the world or the store is NULL");
    *world = nullptr;
    auto const options_of_world = tutti::detail::c::read(options);
    tutti::detail::c::store_rendezvous meet(*store, rank, size);
    *world = tutti::detail::c::open_named(meet, options_of_world).release();
    return TUTTI_OK;
  });
}
int tutti_split(tutti_world* world, uint32_t colour, int64_t key, tutti_world** part, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(part != nullptr, "tutti_split: the pointer to the part is NULL");
    *part = nullptr;
    *part = usable(world).split(colour, key).release();
    return TUTTI_OK;
  });
}
int tutti_dup(tutti_world* world, tutti_world** copy, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(copy != nullptr, "tutti_dup: the pointer to the copy is NULL");
    *copy = nullptr;
    *copy = usable(world).dup().release();
    return TUTTI_OK;
  });
}
void tutti_leave(tutti_world* world) {
  if (world != nullptr && !world->is_inherited()) {
    delete world;
  }
}

uint32_t tutti_rank(tutti_world const* world) {
  return world->rank();
}
uint32_t tutti_size(tutti_world const* world) {
  return world->size();
}
char const* tutti_name(tutti_world const* world) {
  return world->name();
}
char const* tutti_transport(tutti_world const* world) {
  return world->transport();
}
int tutti_set_deadline(tutti_world* world, int64_t nanoseconds, tutti_error* error) {
  return run_guarded(error, [&] {
    usable(world).set_deadline(tutti::detail::c::limit_of(nanoseconds));
    return TUTTI_OK;
  });
}
void tutti_abort(tutti_world* world, char const* reason) {
  if (world != nullptr) {
    world->abort(reason == nullptr ? "" : reason);
  }
}
size_t tutti_explain(tutti_world* world, char const* operation, size_t bytes, char* target, size_t room) {
  std::string text;
  tutti_error error;
  int const result = run_guarded(&error, [&] {
    text = usable(world).explain(operation == nullptr ? "" : operation, bytes);
    return TUTTI_OK;
  });
  std::string_view const result_text = result == TUTTI_OK ? text : std::string_view(error.text);
  if (room != 0) {
    target[result_text.copy(target, room - 1)] = '\0';
  }
  return result_text.size();
}

int tutti_allreduce(tutti_world* world, void const* input, void* output, size_t count, tutti_type type, tutti_op op,
                    tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.allreduce(starts, input, output, count, reduction_of(type, op));
  });
}
int tutti_reduce(tutti_world* world, void const* input, void* output, size_t count, tutti_type type, tutti_op op,
                 uint32_t root, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.reduce(starts, input, output, count, reduction_of(type, op), root);
  });
}
int tutti_reduce_scatter(tutti_world* world, void const* input, void* output, size_t count, size_t const* lengths,
                         tutti_type type, tutti_op op, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.reduce_scatter(starts, input, output, tutti_world::blocks(count, lengths, w.size()),
                            reduction_of(type, op));
  });
}
int tutti_scan(tutti_world* world, void const* input, void* output, size_t count, tutti_type type, tutti_op op,
               tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.scan(starts, input, output, count, reduction_of(type, op));
  });
}
int tutti_exscan(tutti_world* world, void const* input, void* output, size_t count, tutti_type type, tutti_op op,
                 tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.exscan(starts, input, output, count, reduction_of(type, op));
  });
}
int tutti_broadcast(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t root,
                    tutti_request** request, tutti_error* error) {
  return operate(world, request, error,
                 [&](tutti_world& w, bool starts) { return w.broadcast(starts, data, count, element_of(type), root); });
}
int tutti_allgather(tutti_world* world, void const* input, void* output, size_t count, size_t const* lengths,
                    tutti_type type, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.allgather(starts, input, output, tutti_world::blocks(count, lengths, w.size()), element_of(type));
  });
}
int tutti_gather(tutti_world* world, void const* input, void* output, size_t count, size_t const* lengths,
                 tutti_type type, uint32_t root, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.gather(starts, input, output, tutti_world::blocks(count, lengths, w.size()), element_of(type), root);
  });
}
int tutti_scatter(tutti_world* world, void const* input, void* output, size_t count, size_t const* lengths,
                  tutti_type type, uint32_t root, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.scatter(starts, input, output, tutti_world::blocks(count, lengths, w.size()), element_of(type), root);
  });
}
int tutti_alltoall(tutti_world* world, void const* input, void* output, size_t count, tutti_type type,
                   tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    return w.alltoall(starts, input, output, count, element_of(type));
  });
}
int tutti_alltoallv(tutti_world* world, void const* input, size_t const* outgoing, void* output, size_t const* incoming,
                    tutti_type type, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    tutti::expects(outgoing != nullptr && incoming != nullptr, "tutti_alltoallv: it needs the lengths of both vectors");
    return w.alltoallv(starts, input, output, tutti::partition(std::span(outgoing, w.size())),
                       tutti::partition(std::span(incoming, w.size())), element_of(type));
  });
}
int tutti_barrier(tutti_world* world, tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) { return w.barrier(starts); });
}
int tutti_send(tutti_world* world, void const* data, size_t count, tutti_type type, uint32_t receiver,
               tutti_request** request, tutti_error* error) {
  return operate(world, request, error,
                 [&](tutti_world& w, bool starts) { return w.send(starts, data, count, element_of(type), receiver); });
}
int tutti_recv(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t sender, tutti_request** request,
               tutti_error* error) {
  return operate(world, request, error,
                 [&](tutti_world& w, bool starts) { return w.recv(starts, data, count, element_of(type), sender); });
}
int tutti_recv_any(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t* sender,
                   tutti_request** request, tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    tutti::expects(sender != nullptr, "tutti_recv_any: the pointer to the sender is NULL");
    return w.recv_any(starts, data, count, element_of(type), *sender);
  });
}
int tutti_exchange(tutti_world* world, tutti_message* messages, size_t count, tutti_request** request,
                   tutti_error* error) {
  return operate(world, request, error, [&](tutti_world& w, bool starts) {
    tutti::expects(messages != nullptr || count == 0, "tutti_exchange: the list of messages is NULL");
    return w.exchange(starts, std::span(messages, count));
  });
}

int tutti_wait(tutti_request** request, int64_t nanoseconds, tutti_error* error) {
  return tutti::detail::c::finish(
      request, error, [&](tutti_request& r) { return r.wait(tutti::duration(std::chrono::nanoseconds(nanoseconds))); });
}
int tutti_test(tutti_request** request, tutti_error* error) {
  return tutti::detail::c::finish(request, error, [](tutti_request& r) { return r.test(); });
}
void tutti_cancel(tutti_request* request) {
  if (request != nullptr && !request->is_inherited()) {
    request->cancel();
    delete request;
  }
}
int tutti_on_end(tutti_request* request, tutti_end end, void* context, tutti_error* error) {
  return run_guarded(error, [&] {
    tutti::expects(request != nullptr && end != nullptr, "tutti_on_end: the request or the function is NULL");
    tutti::detail::c::expect_own(*request);
    request->on_end(end, context);
    return TUTTI_OK;
  });
}
int tutti_poll(tutti_world* world, tutti_error* error) {
  return run_guarded(error, [&] {
    usable(world).poll();
    return TUTTI_OK;
  });
}
}
