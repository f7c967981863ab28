/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_C_H
#define TUTTI_C_H

/*
 * tutti for programs in C, and for languages that call C. docs/guide/c.md is its guide.
 *
 *     tutti_world* world;
 *     tutti_error error;
 *     if (tutti_join(NULL, &world, &error) != TUTTI_OK ||
 *         tutti_allreduce(world, data, data, n, TUTTI_FLOAT32, TUTTI_SUM, NULL, &error) != TUTTI_OK) {
 *       fprintf(stderr, "%s\n", error.text);
 *     }
 *     tutti_leave(world);
 *
 * Every function that can fail returns TUTTI_OK or another tutti_failure. A failure is described in `error`, which may
 * be NULL; success leaves it as it was. After TUTTI_MISUSE the world can be used, unless two threads used it at once or
 * a message of any length was longer than its room. After any other failure of an operation, all later ones on that
 * world fail with the same reason. No function prints, ends the process, or lets an exception out, and none is a point
 * at which pthread_cancel ends a thread.
 *
 * All ranks call the same operations of a world in the same order, with the same count, type, operator and root.
 *
 * Threads: one thread at a time calls functions of a world and its requests. Other worlds, parts and copies may be used
 * by other threads at the same time. A function that says "any thread" may be called at any time. With
 * tutti_options.background, any thread may call any function but tutti_leave.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TUTTI_C_API __attribute__((visibility("default")))
#else
#define TUTTI_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. It grows when a function or a structure changes in a way that programs notice. */
#define TUTTI_C_INTERFACE 1
/* Returns the TUTTI_C_INTERFACE of the library. Any thread. */
TUTTI_C_API uint32_t tutti_interface(void);
/* Returns the version of the library, such as "0.1.0". Any thread. */
TUTTI_C_API char const* tutti_version(void);

/* ---- Failures ---- */

typedef enum tutti_failure {
  TUTTI_OK = 0,
  TUTTI_PEER_LOST = 1,   /* a rank died, closed its connection, or left while it was needed */
  TUTTI_DEADLINE = 2,    /* nothing arrived in time */
  TUTTI_MISMATCH = 3,    /* the ranks called different operations */
  TUTTI_CANCELLED = 4,   /* a rank gave up its operation */
  TUTTI_PROTOCOL = 5,    /* bytes arrived that no rank would send */
  TUTTI_JOIN = 6,        /* the world did not come together */
  TUTTI_UNREACHABLE = 7, /* no connection to a rank could be made */
  TUTTI_ABORTED = 8,     /* a rank ended the world on purpose */
  TUTTI_NOT_YET = 100,   /* not a failure: the time of tutti_wait has passed, and the operation continues */
  TUTTI_MISUSE = 101,    /* a mistake of the caller; the text says what to do */
  TUTTI_SYSTEM = 102     /* no memory, no file, or another error of the system */
} tutti_failure;

#define TUTTI_MOST_AT_FAULT 16

typedef struct tutti_error {
  int32_t kind;                           /* the tutti_failure */
  uint32_t self;                          /* the rank that reports it; UINT32_MAX: it has none */
  uint64_t sequence;                      /* the number of the operation, equal on all ranks */
  uint32_t step;                          /* the step of the schedule that the operation had reached */
  uint32_t at_fault_count;                /* the number of ranks at fault; more than TUTTI_MOST_AT_FAULT are left out */
  uint32_t at_fault[TUTTI_MOST_AT_FAULT]; /* the ranks at fault */
  char communicator[64];                  /* the name of the world or part; empty before it exists */
  char operation[128];                    /* the operation, such as "allreduce(sum float32 x 1000, ring)" */
  char text[1024];                        /* all of it, for a person */
} tutti_error;

/* ---- Types and operators ---- */

/* A complex number is a pair of numbers. A TUTTI_BOOL is a byte, which is true unless it is 0. */
typedef uint32_t tutti_type;
enum {
  TUTTI_INT8,
  TUTTI_INT16,
  TUTTI_INT32,
  TUTTI_INT64,
  TUTTI_UINT8,
  TUTTI_UINT16,
  TUTTI_UINT32,
  TUTTI_UINT64,
  TUTTI_FLOAT16,
  TUTTI_BFLOAT16,
  TUTTI_FLOAT32,
  TUTTI_FLOAT64,
  TUTTI_COMPLEX64,
  TUTTI_COMPLEX128,
  TUTTI_BOOL,
  TUTTI_BYTE
};
/* The type of records of `bytes` bytes, fewer than 2^31, which are moved, or combined by a function. */
#ifdef __cplusplus
#define TUTTI_RECORD(bytes) static_cast<tutti_type>(UINT32_C(0x80000000) | (bytes))
#else
#define TUTTI_RECORD(bytes) ((tutti_type)(UINT32_C(0x80000000) | (bytes)))
#endif

/* Integers have all operators but TUTTI_MEAN; floating-point numbers the first five; complex numbers TUTTI_SUM and
 * TUTTI_PROD; TUTTI_BOOL the logical and bit operators; TUTTI_BYTE the bit operators. */
typedef uint32_t tutti_op;
enum {
  TUTTI_SUM,
  TUTTI_PROD,
  TUTTI_MIN,
  TUTTI_MAX,
  TUTTI_MEAN,
  TUTTI_LOGICAL_AND,
  TUTTI_LOGICAL_OR,
  TUTTI_LOGICAL_XOR,
  TUTTI_BIT_AND,
  TUTTI_BIT_OR,
  TUTTI_BIT_XOR
};

/* Sets each of the `count` elements of `inout` to the combination of the element of `in` and that of `inout`, in this
 * order; `in` comes from lower ranks. It is called with parts of the vector, by the thread that advances the operation.
 */
typedef void (*tutti_function)(void const* in, void* inout, size_t count, void* context);
/* Makes an operator of a function, for elements of one type. `name` must be equal on all ranks; `commutes` is 0 if the
 * order of ranks matters. The function and `context` must stay valid until the last operation has ended. Any thread. */
TUTTI_C_API int tutti_op_create(char const* name, tutti_type type, tutti_function function, void* context, int commutes,
                                tutti_op* op, tutti_error* error);
/* Frees an operator of tutti_op_create; operations under way keep it. Any thread. */
TUTTI_C_API void tutti_op_free(tutti_op op);

/* ---- Worlds ---- */

typedef struct tutti_world tutti_world;

typedef struct tutti_options {
  size_t size; /* sizeof(tutti_options), as TUTTI_OPTIONS sets it */
  /* "shared_memory", "tcp", or "by_locality": shared memory within hosts and TCP between them. NULL: shared memory if
   * all ranks are on one host, else by_locality. */
  char const* transport;
  /* NULL: schedules are picked by measurement. Else the name of a topology, such as "ring", or preferences, such as
   * "allreduce:-4K=doubling; broadcast:1M-=chain/64K". Equal on all ranks. */
  char const* topology;
  char const* role; /* a label in errors, such as "worker 3"; NULL: none */
  int64_t deadline; /* the limit for an operation in nanoseconds; 0: five minutes; TUTTI_NO_DEADLINE: none */
  /* Not 0: a thread of the library advances what was started, and calls the functions at the end; any thread may call
   * any function but tutti_leave. Collective operations then run one after the other, in the order of the calls. Some
   * mistakes are told at the end of a request. */
  int32_t background;
  int32_t reserved; /* 0 */
} tutti_options;

#define TUTTI_OPTIONS \
  { sizeof(tutti_options), NULL, NULL, NULL, 0, 0, 0 }
#define TUTTI_NO_DEADLINE INT64_MAX

/* A store of texts that all ranks share, such as a key-value server. Both functions are called by the thread that is in
 * tutti_join_store. */
typedef struct tutti_store {
  /* Puts `bytes` bytes under a key. Returns 0, or another number on failure. */
  int (*set)(void* context, char const* key, void const* value, size_t bytes);
  /* Waits until there is such a key, copies at most `room` bytes to `to`, and returns the length of the text, which may
   * be more than `room`: then it is called again with enough. Returns a negative number if it waited too long. */
  int64_t (*get)(void* context, char const* key, void* to, size_t room);
  void* context;
} tutti_store;

/* Joins the world of this process as its launcher describes it: torchrun, mpirun, Slurm, or the variables TUTTI_*
 * (docs/guide/launching.md). Without a launcher the world has one rank. Collective. `options` may be NULL. */
TUTTI_C_API int tutti_join(tutti_options const* options, tutti_world** world, tutti_error* error);
/* Joins a world of `size` ranks that meet in a store. The store must be fresh: no world has met in it. Collective. */
TUTTI_C_API int tutti_join_store(tutti_store const* store, uint32_t rank, uint32_t size, tutti_options const* options,
                                 tutti_world** world, tutti_error* error);

#define TUTTI_NO_PART UINT32_MAX
/* Splits a world: the ranks of one colour form a part, ordered by key, then by rank. A rank whose colour is
 * TUTTI_NO_PART gets NULL. Collective over the world. A part may outlive the world. With `background`, waits until all
 * that was started here has ended. */
TUTTI_C_API int tutti_split(tutti_world* world, uint32_t colour, int64_t key, tutti_world** part, tutti_error* error);
/* Makes a world of the same ranks, whose operations are independent of the first one's. Collective. With `background`,
 * waits until all that was started here has ended. */
TUTTI_C_API int tutti_dup(tutti_world* world, tutti_world** copy, tutti_error* error);
/* Leaves a world and frees it; NULL: does nothing. No other thread is in a function of it then. With `background`,
 * waits until all that was started has ended. Without it, cancels operations that have a function of tutti_on_end.
 * Other requests may be given to tutti_wait, tutti_test or tutti_cancel later. */
TUTTI_C_API void tutti_leave(tutti_world* world);

/* Any thread. */
TUTTI_C_API uint32_t tutti_rank(tutti_world const* world);
TUTTI_C_API uint32_t tutti_size(tutti_world const* world);
/* Returns the name in errors, such as "world/7:1", which lives as long as the world. Any thread. */
TUTTI_C_API char const* tutti_name(tutti_world const* world);
/* Returns the name of the transport, such as "shared_memory". Any thread. */
TUTTI_C_API char const* tutti_transport(tutti_world const* world);
/* Sets the limit for later operations, in nanoseconds, as tutti_options.deadline has it. Call it on all ranks. */
TUTTI_C_API int tutti_set_deadline(tutti_world* world, int64_t nanoseconds, tutti_error* error);
/* Ends the world on purpose, on all ranks, with its parts. At most 55 bytes of the reason are sent. Any thread, but no
 * signal handler. */
TUTTI_C_API void tutti_abort(tutti_world* world, char const* reason);
/* Copies a text to `to`, which has `room` bytes, and ends it by a zero: the schedule that runs an operation
 * ("allreduce", "broadcast", ...) on a vector of `bytes` bytes, and the predicted times of others. Returns the length
 * of the text. */
TUTTI_C_API size_t tutti_explain(tutti_world* world, char const* operation, size_t bytes, char* to, size_t room);

/* ---- Operations ----
 *
 * With `request` NULL a call returns when this rank's part is done. Else it starts the operation, sets `*request`, and
 * the memory must stay valid and untouched until it has ended. A failure to start sets `*request` to NULL.
 *
 * `in` and `out` are the same memory (in place) or do not overlap. Where `lengths` is given, it has one length for each
 * rank, equal on all ranks, and block r has lengths[r] elements, one block after the other. Where it is NULL, block r
 * has count / size elements, and one more if r < count % size. With lengths, count is ignored.
 */
typedef struct tutti_request tutti_request;

/* Every rank gets the combination of all ranks' vectors. */
TUTTI_C_API int tutti_allreduce(tutti_world* world, void const* in, void* out, size_t count, tutti_type type,
                                tutti_op op, tutti_request** request, tutti_error* error);
/* The root gets the combination of all ranks' vectors; `out` is ignored elsewhere. */
TUTTI_C_API int tutti_reduce(tutti_world* world, void const* in, void* out, size_t count, tutti_type type, tutti_op op,
                             uint32_t root, tutti_request** request, tutti_error* error);
/* Rank r gets block r of the combination. `in` has all blocks. `out` has room for one block; or it is `in`, and block r
 * is written at its place there. */
TUTTI_C_API int tutti_reduce_scatter(tutti_world* world, void const* in, void* out, size_t count, size_t const* lengths,
                                     tutti_type type, tutti_op op, tutti_request** request, tutti_error* error);
/* Rank r gets the combination of ranks 0 to r. */
TUTTI_C_API int tutti_scan(tutti_world* world, void const* in, void* out, size_t count, tutti_type type, tutti_op op,
                           tutti_request** request, tutti_error* error);
/* Rank r gets the combination of ranks 0 to r - 1; the vector of rank 0 is left alone. */
TUTTI_C_API int tutti_exscan(tutti_world* world, void const* in, void* out, size_t count, tutti_type type, tutti_op op,
                             tutti_request** request, tutti_error* error);
/* Every rank gets the root's vector. */
TUTTI_C_API int tutti_broadcast(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t root,
                                tutti_request** request, tutti_error* error);
/* Every rank gets the blocks of all. `in` has this rank's block; or it is `out`, where the block is at its place. */
TUTTI_C_API int tutti_allgather(tutti_world* world, void const* in, void* out, size_t count, size_t const* lengths,
                                tutti_type type, tutti_request** request, tutti_error* error);
/* The root gets the blocks of all; `out` is ignored elsewhere. The root's `in` may be its block's place in `out`. */
TUTTI_C_API int tutti_gather(tutti_world* world, void const* in, void* out, size_t count, size_t const* lengths,
                             tutti_type type, uint32_t root, tutti_request** request, tutti_error* error);
/* Rank r gets block r of the root's vector; `in` is ignored elsewhere. The root's `out` may be its block's place in
 * `in`. */
TUTTI_C_API int tutti_scatter(tutti_world* world, void const* in, void* out, size_t count, size_t const* lengths,
                              tutti_type type, uint32_t root, tutti_request** request, tutti_error* error);
/* Block j of rank i becomes block i of rank j; both vectors have `count` elements, a multiple of the ranks. Not in
 * place. */
TUTTI_C_API int tutti_alltoall(tutti_world* world, void const* in, void* out, size_t count, tutti_type type,
                               tutti_request** request, tutti_error* error);
/* Sends outgoing[j] elements to rank j, and receives incoming[i] from rank i; the lengths are this rank's own. */
TUTTI_C_API int tutti_alltoallv(tutti_world* world, void const* in, size_t const* outgoing, void* out,
                                size_t const* incoming, tutti_type type, tutti_request** request, tutti_error* error);
/* Returns on no rank before all have called it. */
TUTTI_C_API int tutti_barrier(tutti_world* world, tutti_request** request, tutti_error* error);

/* Sends a message to a rank, which receives as many elements of that type. Messages of one pair arrive in order. */
TUTTI_C_API int tutti_send(tutti_world* world, void const* data, size_t count, tutti_type type, uint32_t receiver,
                           tutti_request** request, tutti_error* error);
TUTTI_C_API int tutti_recv(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t sender,
                           tutti_request** request, tutti_error* error);
/* Receives the next message of any other rank, and sets `*sender` at the end, so it must stay valid until then. */
TUTTI_C_API int tutti_recv_any(tutti_world* world, void* data, size_t count, tutti_type type, uint32_t* sender,
                               tutti_request** request, tutti_error* error);

typedef struct tutti_message {
  void* data; /* a sender's is only read */
  size_t count;
  tutti_type type;
  uint32_t rank;    /* the other rank, or this one: then both ends are listed, and the message is a copy */
  int32_t receives; /* 0: this rank sends it; else it receives it */
  /* Not 0: the receiver need not know the length; both ends say so. A receiver's `count` is the room for elements, and
   * becomes their number. Only in calls that wait. */
  int32_t any_length;
} tutti_message;
/* Sends and receives several messages at the same time, so that no order of them is a deadlock. The list may be freed
 * when the call returns. */
TUTTI_C_API int tutti_exchange(tutti_world* world, tutti_message* messages, size_t count, tutti_request** request,
                               tutti_error* error);

/* ---- Requests ---- */

/* Waits until the operation has ended, at most this number of nanoseconds; negative: until its deadline. At the end
 * frees the request and sets it to NULL; returns TUTTI_NOT_YET before. A NULL request has ended. */
TUTTI_C_API int tutti_wait(tutti_request** request, int64_t nanoseconds, tutti_error* error);
/* Advances operations, and returns as tutti_wait does, without waiting. */
TUTTI_C_API int tutti_test(tutti_request** request, tutti_error* error);
/* Gives an operation up, and frees the request. The world fails on all ranks with TUTTI_CANCELLED, unless the operation
 * has ended. The memory may be used again when it returns. */
TUTTI_C_API void tutti_cancel(tutti_request* request);

/* `failure` is TUTTI_OK or that of `error`, which is valid during the call. */
typedef void (*tutti_end)(void* context, int failure, tutti_error const* error);
/* Has `end` called once, when the operation has ended; at once if it has. The request belongs to the library from then
 * on and must not be used; after a failure of this function it is still the caller's. The thread that advances the
 * operation calls `end`: one that is in a call which waits or tests. There it calls no function of this world.
 *
 * With `background` the library's thread calls `end`, and it may call any function but tutti_leave, tutti_split and
 * tutti_dup: calls that wait run in the function, and it waits only for requests that it has started. Collective
 * operations that it starts run before those that wait for their turn. So their order is the same on all ranks, if
 * tutti_on_end was called before the next one was started. */
TUTTI_C_API int tutti_on_end(tutti_request* request, tutti_end end, void* context, tutti_error* error);
/* Advances all operations that this thread has started. With `background` it need not be called. */
TUTTI_C_API int tutti_poll(tutti_world* world, tutti_error* error);

#ifdef __cplusplus
}
#endif

#endif
