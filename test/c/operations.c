/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of c.h with the result of a sequential program, over transports, ranks, types, and ways to end it. */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 1000 };

/* How an operation is run. */
enum { waits, starts_and_waits, starts_and_tests, calls_a_function, ways };
static char const* const transports[] = {NULL, "shared_memory", "tcp", "by_locality"};

static tutti_options options = TUTTI_OPTIONS;
static int way;
static tutti_request* request;
static tutti_request** started;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int outcome; /* of the last operation with a function: 0 while it is under way */
static void note_end(void* context, int failure, tutti_error const* cause) {
  (void)cause;
  pthread_mutex_lock(&mutex);
  *(int*)context = failure == TUTTI_OK ? 1 : 2;
  pthread_mutex_unlock(&mutex);
}
static int current_outcome(void) {
  pthread_mutex_lock(&mutex);
  int const result = outcome;
  pthread_mutex_unlock(&mutex);
  return result;
}
/* Runs an operation in the current way: `call` uses `started`. */
#define RUN(call)                             \
  do {                                        \
    started = way == waits ? NULL : &request; \
    SUCCEEDS(call);                           \
    end_request(world);                       \
  } while (0)
static void end_request(tutti_world* world) {
  if (way == starts_and_waits) {
    SUCCEEDS(tutti_wait(&request, -1, &error));
    CHECK(request == NULL);
  } else if (way == starts_and_tests) {
    int result = TUTTI_NOT_YET;
    while (result == TUTTI_NOT_YET) {
      result = tutti_test(&request, &error);
    }
    SUCCEEDS(result);
  } else if (way == calls_a_function) {
    outcome = 0;
    SUCCEEDS(tutti_on_end(request, note_end, &outcome, &error));
    while (current_outcome() == 0) {
      SUCCEEDS(tutti_poll(world, &error));
      sched_yield();
    }
    CHECK(outcome == 1);
  }
}

/* Element i of the vector of rank r. */
static int64_t value(uint32_t r, size_t i) {
  return (int64_t)(r + 1) * (int64_t)(i % 7 + 1);
}

static int64_t in[4 * most], out[4 * most];
static void fill(uint32_t rank, size_t count) {
  for (size_t i = 0; i != count; ++i) {
    in[i] = value(rank, i);
    out[i] = -1;
  }
}
static int64_t sum(uint32_t first, uint32_t last, size_t i) {
  int64_t total = 0;
  for (uint32_t r = first; r != last; ++r) {
    total += value(r, i);
  }
  return total;
}
static size_t begin_of(size_t count, uint32_t n, uint32_t r) {
  size_t const more = count % n;
  return count / n * r + (r < more ? r : more);
}

static void reduce_all(tutti_world* world, uint32_t rank, uint32_t n, size_t count) {
  fill(rank, count);
  RUN(tutti_allreduce(world, in, out, count, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(out[i] == sum(0, n, i));
  }
  RUN(tutti_allreduce(world, in, in, count, TUTTI_INT64, TUTTI_MAX, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(in[i] == value(n - 1, i));
  }
  uint32_t const root = n - 1;
  fill(rank, count);
  RUN(tutti_reduce(world, in, rank == root ? out : NULL, count, TUTTI_INT64, TUTTI_SUM, root, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(out[i] == (rank == root ? sum(0, n, i) : -1));
  }
  fill(rank, count);
  RUN(tutti_scan(world, in, out, count, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(out[i] == sum(0, rank + 1, i));
  }
  fill(rank, count);
  RUN(tutti_scan(world, in, in, count, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(in[i] == sum(0, rank + 1, i));
  }
  fill(rank, count);
  RUN(tutti_exscan(world, in, out, count, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(out[i] == (rank == 0 ? -1 : sum(0, rank, i)));
  }
}

static void reduce_blocks(tutti_world* world, uint32_t rank, uint32_t n, size_t count, size_t const* lengths) {
  size_t begin = begin_of(count, n, rank), end = begin_of(count, n, rank + 1);
  if (lengths != NULL) {
    begin = 0;
    for (uint32_t r = 0; r != rank; ++r) {
      begin += lengths[r];
    }
    end = begin + lengths[rank];
  }
  fill(rank, count);
  RUN(tutti_reduce_scatter(world, in, out, count, lengths, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = begin; i != end; ++i) {
    CHECK(out[i - begin] == sum(0, n, i));
  }
  fill(rank, count);
  RUN(tutti_reduce_scatter(world, in, in, count, lengths, TUTTI_INT64, TUTTI_SUM, started, &error));
  for (size_t i = begin; i != end; ++i) {
    CHECK(in[i] == sum(0, n, i));
  }
}

static void move(tutti_world* world, uint32_t rank, uint32_t n, size_t count, size_t const* lengths) {
  size_t begin[5] = {0};
  for (uint32_t r = 0; r != n; ++r) {
    begin[r + 1] = lengths != NULL ? begin[r] + lengths[r] : begin_of(count, n, r + 1);
  }
  size_t const own = begin[rank + 1] - begin[rank];
  fill(rank, count);
  RUN(tutti_allgather(world, in, out, count, lengths, TUTTI_INT64, started, &error));
  for (uint32_t r = 0; r != n; ++r) {
    for (size_t i = begin[r]; i != begin[r + 1]; ++i) {
      CHECK(out[i] == value(r, i - begin[r]));
    }
  }
  fill(rank, count);
  memcpy(out + begin[rank], in, own * sizeof *in);
  RUN(tutti_allgather(world, out, out, count, lengths, TUTTI_INT64, started, &error));
  for (uint32_t r = 0; r != n; ++r) {
    for (size_t i = begin[r]; i != begin[r + 1]; ++i) {
      CHECK(out[i] == value(r, i - begin[r]));
    }
  }
  uint32_t const root = n / 2;
  fill(rank, count);
  RUN(tutti_gather(world, in, rank == root ? out : NULL, count, lengths, TUTTI_INT64, root, started, &error));
  for (uint32_t r = 0; rank == root && r != n; ++r) {
    for (size_t i = begin[r]; i != begin[r + 1]; ++i) {
      CHECK(out[i] == value(r, i - begin[r]));
    }
  }
  fill(rank, count);
  if (rank == root) { /* in place */
    memcpy(out + begin[rank], in, own * sizeof *in);
  }
  int64_t const* const place = rank == root ? out + begin[rank] : in;
  RUN(tutti_gather(world, place, rank == root ? out : NULL, count, lengths, TUTTI_INT64, root, started, &error));
  for (uint32_t r = 0; rank == root && r != n; ++r) {
    for (size_t i = begin[r]; i != begin[r + 1]; ++i) {
      CHECK(out[i] == value(r, i - begin[r]));
    }
  }
  fill(rank, count);
  RUN(tutti_scatter(world, rank == root ? in : NULL, out, count, lengths, TUTTI_INT64, root, started, &error));
  for (size_t i = 0; i != own; ++i) {
    CHECK(out[i] == value(root, begin[rank] + i));
  }
  fill(rank, count);
  memcpy(out, in, count * sizeof *in);
  RUN(tutti_broadcast(world, out, count, TUTTI_INT64, root, started, &error));
  for (size_t i = 0; i != count; ++i) {
    CHECK(out[i] == value(root, i));
  }
  RUN(tutti_barrier(world, started, &error));
}

static void exchange_blocks(tutti_world* world, uint32_t rank, uint32_t n, size_t each) {
  fill(rank, n * each);
  RUN(tutti_alltoall(world, in, out, n * each, TUTTI_INT64, started, &error));
  for (uint32_t r = 0; r != n; ++r) {
    for (size_t i = 0; i != each; ++i) {
      CHECK(out[r * each + i] == value(r, rank * each + i));
    }
  }
  size_t outgoing[4], incoming[4], sent = 0; /* rank r sends r + s elements to rank s */
  for (uint32_t r = 0; r != n; ++r) {
    outgoing[r] = incoming[r] = rank + r;
    sent += outgoing[r];
  }
  fill(rank, sent);
  RUN(tutti_alltoallv(world, in, outgoing, out, incoming, TUTTI_INT64, started, &error));
  size_t place = 0;
  for (uint32_t r = 0; r != n; ++r) {
    size_t there = 0;
    for (uint32_t s = 0; s != rank; ++s) {
      there += r + s;
    }
    for (size_t i = 0; i != incoming[r]; ++i) {
      CHECK(out[place++] == value(r, there + i));
    }
  }
}

static void send_messages(tutti_world* world, uint32_t rank, uint32_t n) {
  uint32_t const next = (rank + 1) % n, previous = (rank + n - 1) % n;
  fill(rank, 10);
  tutti_message list[2] = {{in, 10, TUTTI_INT64, next, 0, 0}, {out, 10, TUTTI_INT64, previous, 1, 0}};
  RUN(tutti_exchange(world, list, 2, started, &error));
  CHECK(out[9] == value(previous, 9));
  if (n == 1) {
    return;
  }
  if (rank == 0) {
    for (uint32_t r = 1; r != n; ++r) {
      static uint32_t sender;
      sender = n;
      RUN(tutti_recv_any(world, out, 10, TUTTI_INT64, &sender, started, &error));
      CHECK(sender != 0 && sender < n && out[9] == value(sender, 9));
      RUN(tutti_send(world, out, 3, TUTTI_INT64, sender, started, &error));
    }
  } else {
    RUN(tutti_send(world, in, 10, TUTTI_INT64, 0, started, &error));
    RUN(tutti_recv(world, out, 3, TUTTI_INT64, 0, started, &error));
    CHECK(out[2] == value(rank, 2));
  }
  RUN(tutti_barrier(world, started, &error)); /* a rank that takes messages of any rank would take later ones, too */
  tutti_message sized[2] = {{in, rank + 1, TUTTI_INT64, next, 0, 1}, {out, most, TUTTI_INT64, previous, 1, 1}};
  SUCCEEDS(tutti_exchange(world, sized, 2, NULL, &error));
  CHECK(sized[1].count == previous + 1 && out[previous] == value(previous, previous));
}

static void maximum_of_triples(void const* input, void* inout, size_t count, void* context) {
  int const* const a = input;
  int* const b = inout;
  for (size_t i = 0; i != 3 * count; ++i) {
    b[i] = a[i] > b[i] ? a[i] : b[i];
  }
  (void)context;
}
static void combine_records(tutti_world* world, uint32_t rank, uint32_t n) {
  int triples[6];
  for (int i = 0; i != 6; ++i) {
    triples[i] = i % 2 == 0 ? (int)rank : -(int)rank;
  }
  tutti_op op;
  SUCCEEDS(tutti_op_create("maximum", TUTTI_RECORD(sizeof(int[3])), maximum_of_triples, NULL, 1, &op, &error));
  RUN(tutti_allreduce(world, triples, triples, 2, TUTTI_RECORD(sizeof(int[3])), op, started, &error));
  tutti_op_free(op);
  for (int i = 0; i != 6; ++i) {
    CHECK(triples[i] == (i % 2 == 0 ? (int)n - 1 : 0));
  }
}

/* Every operator of every type whose numbers are integers: rank 0 has 6, and the others 3. */
static void combine_integers(tutti_world* world, uint32_t rank, uint32_t n) {
  static struct {
    tutti_type type;
    size_t bytes;
  } const types[] = {{TUTTI_INT8, 1},  {TUTTI_INT16, 2},  {TUTTI_INT32, 4},  {TUTTI_INT64, 8},
                     {TUTTI_UINT8, 1}, {TUTTI_UINT16, 2}, {TUTTI_UINT32, 4}, {TUTTI_UINT64, 8}};
  uint8_t product = 6;
  for (uint32_t r = 1; r != n; ++r) {
    product = (uint8_t)(product * 3);
  }
  int const is_odd = n % 2;
  struct {
    tutti_op op;
    uint8_t result;
  } const ops[] = {{TUTTI_SUM, (uint8_t)(6 + 3 * (n - 1))},
                   {TUTTI_PROD, product},
                   {TUTTI_MIN, n == 1 ? 6 : 3},
                   {TUTTI_MAX, 6},
                   {TUTTI_LOGICAL_AND, 1},
                   {TUTTI_LOGICAL_OR, 1},
                   {TUTTI_LOGICAL_XOR, (uint8_t)is_odd},
                   {TUTTI_BIT_AND, n == 1 ? 6 : 2},
                   {TUTTI_BIT_OR, n == 1 ? 6 : 7},
                   {TUTTI_BIT_XOR, is_odd ? 6 : 5}};
  for (size_t t = 0; t != sizeof types / sizeof *types; ++t) {
    for (size_t o = 0; o != sizeof ops / sizeof *ops; ++o) {
      uint64_t number = 0, result = UINT64_MAX; /* a little-endian number has its lowest byte first */
      ((unsigned char*)&number)[0] = rank == 0 ? 6 : 3;
      if (n == 1 && ops[o].op >= TUTTI_LOGICAL_AND && ops[o].op <= TUTTI_LOGICAL_XOR) {
        continue; /* one rank keeps its number */
      }
      RUN(tutti_allreduce(world, &number, &result, 1, types[t].type, ops[o].op, started, &error));
      uint64_t due = UINT64_MAX;
      memset(&due, 0, types[t].bytes);
      ((unsigned char*)&due)[0] = ops[o].result;
      CHECK(result == due);
    }
  }
  /* Floating-point numbers: 2.0, and 0.5 on other ranks; halves by their bits. */
  static tutti_op const float_ops[] = {TUTTI_SUM, TUTTI_PROD, TUTTI_MIN, TUTTI_MAX, TUTTI_MEAN};
  for (size_t o = 0; o != sizeof float_ops / sizeof *float_ops; ++o) {
    double const own = rank == 0 ? 2 : 0.5;
    double due = 2;
    for (uint32_t r = 1; r != n; ++r) {
      due = o == 0 || o == 4 ? due + 0.5 : o == 1 ? due * 0.5 : o == 2 ? 0.5 : due;
    }
    due = o == 4 ? due / n : due;
    double d = own;
    float f = (float)own;
    uint16_t half = rank == 0 ? 0x4000 : 0x3800, brain = rank == 0 ? 0x4000 : 0x3f00;
    RUN(tutti_allreduce(world, &d, &d, 1, TUTTI_FLOAT64, float_ops[o], started, &error));
    RUN(tutti_allreduce(world, &f, &f, 1, TUTTI_FLOAT32, float_ops[o], started, &error));
    RUN(tutti_allreduce(world, &half, &half, 1, TUTTI_FLOAT16, float_ops[o], started, &error));
    RUN(tutti_allreduce(world, &brain, &brain, 1, TUTTI_BFLOAT16, float_ops[o], started, &error));
    CHECK(d == due && f == (float)due);
    if (o == 2) {
      CHECK(half == (n == 1 ? 0x4000 : 0x3800) && brain == (n == 1 ? 0x4000 : 0x3f00));
    } else if (o == 3) {
      CHECK(half == 0x4000 && brain == 0x4000);
    }
  }
  unsigned char bits = rank == 0 ? 6 : 3;
  RUN(tutti_allreduce(world, &bits, &bits, 1, TUTTI_BYTE, TUTTI_BIT_OR, started, &error));
  CHECK(bits == (n == 1 ? 6 : 7));
  double z[2] = {1, 2};
  RUN(tutti_allreduce(world, z, z, 1, TUTTI_COMPLEX128, TUTTI_SUM, started, &error));
  CHECK(z[0] == n && z[1] == 2 * (double)n);
}

/* An operator that does not commute: it writes the digits of numbers one behind the other. */
static void join_digits(void const* input, void* inout, size_t count, void* context) {
  uint32_t const* const a = input;
  uint32_t* const b = inout;
  (void)context;
  for (size_t i = 0; i != count; ++i) {
    uint32_t shift = 1;
    while (shift <= b[i]) {
      shift *= 10;
    }
    b[i] = a[i] * shift + b[i];
  }
}
static void combine_in_order(tutti_world* world, uint32_t rank, uint32_t n) {
  uint32_t digits = rank + 1, due = 0;
  for (uint32_t r = 0; r != n; ++r) {
    due = 10 * due + r + 1;
  }
  tutti_op op;
  SUCCEEDS(tutti_op_create("join digits", TUTTI_UINT32, join_digits, NULL, 0, &op, &error));
  RUN(tutti_allreduce(world, &digits, &digits, 1, TUTTI_UINT32, op, started, &error));
  tutti_op_free(op);
  CHECK(digits == due);
}

/* Sums of ones, which every type holds. */
static void sum_types(tutti_world* world, uint32_t n) {
  int8_t i8 = 1;
  uint16_t u16 = 1;
  uint32_t u32 = 1;
  float f = 1, z[2] = {1, -1};
  double d = 1, mean = n;
  unsigned char truth = 4;
  uint16_t half = 0x3c00, brain = 0x3f80;
  RUN(tutti_allreduce(world, &i8, &i8, 1, TUTTI_INT8, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &u16, &u16, 1, TUTTI_UINT16, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &u32, &u32, 1, TUTTI_UINT32, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &f, &f, 1, TUTTI_FLOAT32, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &d, &d, 1, TUTTI_FLOAT64, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &mean, &mean, 1, TUTTI_FLOAT64, TUTTI_MEAN, started, &error));
  RUN(tutti_allreduce(world, z, z, 1, TUTTI_COMPLEX64, TUTTI_SUM, started, &error));
  RUN(tutti_allreduce(world, &truth, &truth, 1, TUTTI_BOOL, TUTTI_LOGICAL_OR, started, &error));
  RUN(tutti_allreduce(world, &half, &half, 1, TUTTI_FLOAT16, TUTTI_MAX, started, &error));
  RUN(tutti_allreduce(world, &brain, &brain, 1, TUTTI_BFLOAT16, TUTTI_MIN, started, &error));
  CHECK(i8 == (int8_t)n && u16 == n && u32 == n && f == (float)n && d == n && mean == n);
  CHECK(z[0] == (float)n && z[1] == -(float)n && truth == (n == 1 ? truth : 1) && truth != 0);
  CHECK(half == 0x3c00 && brain == 0x3f80);
}

static void run_all(tutti_world* world, uint32_t rank, uint32_t n) {
  size_t const counts[] = {0, 1, 5, most};
  for (size_t c = 0; c != sizeof counts / sizeof *counts; ++c) {
    reduce_all(world, rank, n, counts[c]);
    reduce_blocks(world, rank, n, counts[c], NULL);
    move(world, rank, n, counts[c], NULL);
    exchange_blocks(world, rank, n, counts[c] / 4);
  }
  size_t const lengths[4] = {7, 0, 30, 2};
  size_t total = 0;
  for (uint32_t r = 0; r != n; ++r) {
    total += lengths[r];
  }
  reduce_blocks(world, rank, n, total, lengths);
  move(world, rank, n, total, lengths);
  send_messages(world, rank, n);
  combine_records(world, rank, n);
  sum_types(world, n);
  combine_integers(world, rank, n);
  combine_in_order(world, rank, n);
}

static void body(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  for (way = waits; way != ways; ++way) {
    run_all(world, rank, n);
  }
  way = waits;
  tutti_world* part = NULL;
  SUCCEEDS(tutti_split(world, rank == 0 ? TUTTI_NO_PART : 0, -(int64_t)rank, &part, &error));
  CHECK((part == NULL) == (rank == 0));
  if (part != NULL) {
    CHECK(tutti_size(part) == n - 1 && tutti_rank(part) == n - 1 - rank);
    CHECK(strncmp(tutti_name(part), "world/", 6) == 0);
    run_all(part, tutti_rank(part), n - 1);
  }
  tutti_world* copy = NULL;
  SUCCEEDS(tutti_dup(world, &copy, &error));
  tutti_leave(world);
  run_all(copy, rank, n);
  tutti_leave(copy);
  tutti_leave(part);
  tutti_leave(NULL);
}

int main(int argc, char** argv) {
  int const background = argc == 2 && strcmp(argv[1], "background") == 0;
  int failures = 0;
  options.background = background;
  for (size_t t = 0; t != sizeof transports / sizeof *transports; ++t) {
    for (uint32_t n = 1; n <= 4; ++n) {
      options.transport = transports[t];
      options.topology = n == 3 ? "binary_tree" : NULL;
      if (run_ranks(n, body, n) != 0) {
        fprintf(stderr, "transport %s, %u ranks\n", transports[t] == NULL ? "automatic" : transports[t], n);
        ++failures;
      }
    }
  }
  return failures != 0;
}
