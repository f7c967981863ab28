/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of c.h to mistakes, failures, threads and forks. */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fails the rank unless the call returns `kind` with a text that has `words`. */
#define FAILS(call, failure_kind, words)                                                                         \
  do {                                                                                                           \
    int const result = (call);                                                                                   \
    if (result != (failure_kind) || error.kind != result || strstr(error.text, (words)) == NULL) {               \
      fprintf(stderr, "%s:%d: rank %u: %s: %d, %s\n", __FILE__, __LINE__, this_rank, #call, result, error.text); \
      exit(1);                                                                                                   \
    }                                                                                                            \
  } while (0)

static tutti_options options = TUTTI_OPTIONS;

static int refuse_set(void* context, char const* key, void const* value, size_t bytes) {
  (void)context, (void)key, (void)value, (void)bytes;
  return 1;
}
static int accept_set(void* context, char const* key, void const* value, size_t bytes) {
  (void)context, (void)key, (void)value, (void)bytes;
  return 0;
}
static int64_t refuse_get(void* context, char const* key, void* to, size_t room) {
  (void)context, (void)key, (void)to, (void)room;
  return -1;
}

static void misuse(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* world = NULL;
  tutti_options wrong = options;
  wrong.size = 4096;
  FAILS(tutti_join(&wrong, &world, &error), TUTTI_MISUSE, "TUTTI_OPTIONS");
  wrong = options;
  wrong.transport = "pigeon";
  FAILS(tutti_join_store(store, rank, n, &wrong, &world, &error), TUTTI_MISUSE, "shared_memory, tcp or by_locality");
  wrong = options;
  wrong.deadline = -1;
  FAILS(tutti_join(&wrong, &world, &error), TUTTI_MISUSE, "deadline");
  FAILS(tutti_join(NULL, NULL, &error), TUTTI_MISUSE, "NULL");
  FAILS(tutti_join_store(store, n, n, NULL, &world, &error), TUTTI_MISUSE, "below the size");
  FAILS(tutti_barrier(NULL, NULL, &error), TUTTI_MISUSE, "NULL");
  CHECK(tutti_barrier(NULL, NULL, NULL) == TUTTI_MISUSE);
  tutti_store const broken = {refuse_set, refuse_get, NULL}, silent = {accept_set, refuse_get, NULL};
  FAILS(tutti_join_store(&broken, 0, 2, NULL, &world, &error), TUTTI_JOIN, "refused");
  FAILS(tutti_join_store(&silent, 0, 2, NULL, &world, &error), TUTTI_JOIN, "rank 1 has put no text");
  CHECK(error.at_fault_count == 1 && error.at_fault[0] == 1 && error.self == 0);

  SUCCEEDS(tutti_join(NULL, &world, &error)); /* without a launcher: one rank */
  CHECK(tutti_size(world) == 1);
  tutti_leave(world);
}

static void misuse_world(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  float x[4] = {1, 2, 3, 4};
  tutti_request* request = NULL;
  tutti_op op;
  FAILS(tutti_allreduce(world, x, x, 4, 77, TUTTI_SUM, NULL, &error), TUTTI_MISUSE, "no type 77");
  FAILS(tutti_allreduce(world, x, x, 4, TUTTI_FLOAT32, 77, NULL, &error), TUTTI_MISUSE, "no operator 77");
  FAILS(tutti_allreduce(world, x, x, 4, TUTTI_FLOAT32, TUTTI_BIT_AND, &request, &error), TUTTI_MISUSE, "it has sum");
  CHECK(request == NULL);
  FAILS(tutti_allreduce(world, x, x, 4, TUTTI_RECORD(0), TUTTI_SUM, NULL, &error), TUTTI_MISUSE, "1 byte");
  FAILS(tutti_allreduce(world, x, x + 1, 3, TUTTI_FLOAT32, TUTTI_SUM, NULL, &error), TUTTI_MISUSE, "overlap");
  FAILS(tutti_allreduce(world, NULL, NULL, 3, TUTTI_FLOAT32, TUTTI_SUM, NULL, &error), TUTTI_MISUSE, "null");
  FAILS(tutti_broadcast(world, x, 4, TUTTI_FLOAT32, n, NULL, &error), TUTTI_MISUSE, "root");
  FAILS(tutti_send(world, x, 4, TUTTI_FLOAT32, n, NULL, &error), TUTTI_MISUSE, "receiver");
  FAILS(tutti_alltoall(world, x, x, 3, TUTTI_FLOAT32, NULL, &error), TUTTI_MISUSE, "alltoall");
  FAILS(tutti_alltoallv(world, x, NULL, x, NULL, TUTTI_FLOAT32, NULL, &error), TUTTI_MISUSE, "lengths");
  FAILS(tutti_op_create("mine", TUTTI_FLOAT32, NULL, NULL, 1, &op, &error), TUTTI_MISUSE, "function");
  tutti_message sized = {x, 4, TUTTI_FLOAT32, (rank + 1) % n, 1, 1};
  FAILS(tutti_exchange(world, &sized, 1, &request, &error), TUTTI_MISUSE, "any length");
  FAILS(tutti_on_end(NULL, NULL, NULL, &error), TUTTI_MISUSE, "NULL");
  SUCCEEDS(tutti_wait(&request, -1, &error));
  char text[64];
  CHECK(tutti_explain(world, "allreduce", 4096, text, sizeof text) > 63 && strlen(text) == 63);
  CHECK(strstr((tutti_explain(world, "dance", 4, text, sizeof text), text), "dance") != NULL);
  SUCCEEDS(tutti_allreduce(world, x, x, 4, TUTTI_FLOAT32, TUTTI_SUM, NULL, &error)); /* none of it has hurt */
  CHECK(x[3] == 4 * (float)n);
  tutti_leave(world);
}

static void wrong_topology(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* world = NULL;
  tutti_options wrong = options;
  wrong.topology = "moebius";
  FAILS(tutti_join_store(store, rank, n, &wrong, &world, &error), TUTTI_MISUSE, "moebius");
}
static void different_transports(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* world = NULL;
  tutti_options own = options;
  own.transport = rank == 0 ? "tcp" : NULL;
  FAILS(tutti_join_store(store, rank, n, &own, &world, &error), TUTTI_JOIN, "the same library and transport");
}
static void mismatch(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  double x[4] = {0};
  tutti_op const op = rank == 0 ? TUTTI_SUM : TUTTI_MAX;
  FAILS(tutti_allreduce(world, x, x, 4, TUTTI_FLOAT64, op, NULL, &error), TUTTI_MISMATCH, "allreduce");
  CHECK(error.at_fault_count >= 1 && error.self == rank && strcmp(error.communicator, "world") == 0);
  CHECK(strncmp(error.operation, "allreduce", 9) == 0);
  FAILS(tutti_barrier(world, NULL, &error), TUTTI_MISMATCH, ""); /* the world stays failed */
  tutti_leave(world);
}
/* Waits for a request by a function at its end and polling; returns the failure, and sets `error`. */
static pthread_mutex_t end_mutex = PTHREAD_MUTEX_INITIALIZER;
static int end_failure;
static void note_error(void* context, int failure, tutti_error const* cause) {
  pthread_mutex_lock(&end_mutex);
  *(tutti_error*)context = *cause;
  end_failure = failure;
  pthread_mutex_unlock(&end_mutex);
}
static int wait_by_function(tutti_world* world, tutti_request* request) {
  int failure = -1;
  end_failure = -1;
  static tutti_error noted;
  SUCCEEDS(tutti_on_end(request, note_error, &noted, &error));
  while (failure == -1) {
    SUCCEEDS(tutti_poll(world, &error));
    sched_yield();
    pthread_mutex_lock(&end_mutex);
    failure = end_failure;
    error = noted;
    pthread_mutex_unlock(&end_mutex);
  }
  return failure;
}

/* Rank 1 is inside no call until the world has failed. */
static void late_rank(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  SUCCEEDS(tutti_set_deadline(world, INT64_C(2) * 1000 * 1000 * 1000, &error));
  if (rank == 1) {
    char word[1];
    CHECK(store->get(store->context, "the others have failed", word, 1) == 1);
    CHECK(tutti_barrier(world, NULL, &error) != TUTTI_OK);
  } else {
    float x = 1;
    tutti_request* request;
    SUCCEEDS(tutti_allreduce(world, &x, &x, 1, TUTTI_FLOAT32, TUTTI_SUM, &request, &error));
    CHECK(tutti_test(&request, &error) == TUTTI_NOT_YET);
    CHECK(tutti_wait(&request, 1000 * 1000, &error) == TUTTI_NOT_YET && request != NULL);
    FAILS(rank == 0 ? tutti_wait(&request, -1, &error) : wait_by_function(world, request), TUTTI_DEADLINE, "rank 1");
    CHECK(error.at_fault_count == 1 && error.at_fault[0] == 1);
    CHECK(rank != 0 || store->set(store->context, "the others have failed", "x", 1) == 0);
  }
  tutti_leave(world);
}
static void killed(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  if (rank == 1) {
    SUCCEEDS(tutti_barrier(world, NULL, &error));
    raise(SIGKILL);
  }
  int result = TUTTI_OK;
  while (result == TUTTI_OK) {
    result = tutti_barrier(world, NULL, &error);
  }
  CHECK(result == TUTTI_PEER_LOST && error.at_fault_count == 1 && error.at_fault[0] == 1);
  tutti_leave(world);
}
static void aborted(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  if (rank == 0) {
    SUCCEEDS(tutti_barrier(world, NULL, &error));
    tutti_abort(world, "loss is nan");
  }
  int result = TUTTI_OK;
  while (result == TUTTI_OK) {
    result = tutti_barrier(world, NULL, &error);
  }
  CHECK(result == TUTTI_ABORTED && strstr(error.text, "loss is nan") != NULL);
  tutti_leave(world);
}
static void cancelled(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world *const whole = join_world(rank, n, store, &options), *world = NULL;
  SUCCEEDS(tutti_dup(whole, &world, &error));
  float x = 1;
  if (rank == 0) {
    tutti_request* request;
    SUCCEEDS(tutti_barrier(world, NULL, &error));
    SUCCEEDS(tutti_recv(world, &x, 1, TUTTI_FLOAT32, 1, &request, &error));
    tutti_cancel(request);
  }
  int result = TUTTI_OK;
  while (result == TUTTI_OK) {
    result = tutti_barrier(world, NULL, &error);
  }
  CHECK(result == TUTTI_CANCELLED);
  SUCCEEDS(tutti_barrier(whole, NULL, &error)); /* another world */
  tutti_leave(world);
  tutti_leave(whole);
}

/* A world that is left calls the functions of operations that have not ended. */
static void note_failure(void* context, int failure, tutti_error const* cause) {
  (void)cause;
  *(int*)context = failure;
}
static void left(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_options plain = options;
  plain.background = 0;
  tutti_world* const world = join_world(rank, n, store, &plain);
  int const met = tutti_barrier(world, NULL, &error); /* rank 0 may leave while rank 1 is in it */
  CHECK(rank != 0 || met == TUTTI_OK);
  float x = 1;
  int failure = TUTTI_OK;
  if (rank == 0) {
    tutti_request* request;
    SUCCEEDS(tutti_recv(world, &x, 1, TUTTI_FLOAT32, 1, &request, &error));
    SUCCEEDS(tutti_on_end(request, note_failure, &failure, &error));
  }
  tutti_leave(world);
  CHECK(rank != 0 || failure == TUTTI_CANCELLED || failure == TUTTI_PEER_LOST);
}

/* A child of fork may neither use nor end the world of its parent, which goes on. */
static void forked(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_world* const world = join_world(rank, n, store, &options);
  float x = 1;
  tutti_request* request;
  SUCCEEDS(tutti_allreduce(world, &x, &x, 1, TUTTI_FLOAT32, TUTTI_SUM, &request, &error));
  SUCCEEDS(tutti_wait(&request, -1, &error));
  SUCCEEDS(tutti_recv(world, &x, 1, TUTTI_FLOAT32, 1 - rank, &request, &error));
  pid_t const child = fork();
  if (child == 0) {
    FAILS(tutti_barrier(world, NULL, &error), TUTTI_MISUSE, "forked");
    FAILS(tutti_wait(&request, -1, &error), TUTTI_MISUSE, "forked");
    CHECK(tutti_test(&request, &error) == TUTTI_MISUSE && request != NULL);
    FAILS(tutti_on_end(request, note_failure, NULL, &error), TUTTI_MISUSE, "forked");
    tutti_cancel(request);
    tutti_leave(world);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  SUCCEEDS(tutti_send(world, &x, 1, TUTTI_FLOAT32, 1 - rank, NULL, &error));
  SUCCEEDS(tutti_wait(&request, TUTTI_NO_DEADLINE, &error));
  SUCCEEDS(tutti_barrier(world, NULL, &error));
  tutti_leave(world);
}

/* Functions at the end of operations start others, which run before what was started outside, and wait for them. */
struct chain {
  tutti_world* world;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int64_t value, nested, last, before;
  int ended;
};
static void end_last(void* context, int failure, tutti_error const* cause) {
  struct chain* const c = context;
  (void)cause;
  pthread_mutex_lock(&c->mutex);
  c->ended += failure == TUTTI_OK ? 1 : 100;
  pthread_cond_signal(&c->changed);
  pthread_mutex_unlock(&c->mutex);
}
static void end_first(void* context, int failure, tutti_error const* cause) {
  struct chain* const c = context;
  uint32_t const n = tutti_size(c->world);
  tutti_error nested_error;
  tutti_request *first = NULL, *second = NULL, *third = NULL;
  int sum = failure;
  (void)cause;
  int64_t twice = c->value;
  c->nested = c->value;
  c->before = 1;
  sum += tutti_allreduce(c->world, &c->nested, &c->nested, 1, TUTTI_INT64, TUTTI_SUM, &first, &nested_error);
  sum += tutti_allreduce(c->world, &c->before, &c->before, 1, TUTTI_INT64, TUTTI_SUM, &second, &nested_error);
  sum += tutti_wait(&first, -1, &nested_error);
  sum += tutti_allreduce(c->world, &twice, &twice, 1, TUTTI_INT64, TUTTI_SUM, NULL, &nested_error);
  sum += tutti_on_end(second, end_last, c, &nested_error);
  sum += tutti_barrier(c->world, &third, &nested_error);
  sum += tutti_on_end(third, end_last, c, &nested_error);
  sum += c->nested == (int64_t)n * n && twice == (int64_t)n * n ? 0 : 1;
  end_last(c, sum, NULL);
}
static void chained(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_options with_thread = options;
  with_thread.background = 1;
  struct chain c = {0};
  c.world = join_world(rank, n, store, &with_thread);
  pthread_mutex_init(&c.mutex, NULL);
  pthread_cond_init(&c.changed, NULL);
  tutti_request *first, *last;
  c.value = 1;
  c.last = 1;
  SUCCEEDS(tutti_allreduce(c.world, &c.value, &c.value, 1, TUTTI_INT64, TUTTI_SUM, &first, &error));
  SUCCEEDS(tutti_on_end(first, end_first, &c, &error));
  SUCCEEDS(tutti_allreduce(c.world, &c.last, &c.last, 1, TUTTI_INT64, TUTTI_MAX, &last, &error));
  SUCCEEDS(tutti_on_end(last, end_last, &c, &error));
  pthread_mutex_lock(&c.mutex);
  while (c.ended < 4) {
    pthread_cond_wait(&c.changed, &c.mutex);
  }
  pthread_mutex_unlock(&c.mutex);
  CHECK(c.ended == 4 && c.value == n && c.last == 1 && c.before == n);
  SUCCEEDS(tutti_barrier(c.world, NULL, &error));
  tutti_leave(c.world);
}

/* With a thread of the library several threads send and receive while another one reduces. */
enum { threads = 3, rounds = 200 };
struct worker {
  tutti_world* world;
  uint32_t number;
  int failed;
};
static void* work(void* context) {
  struct worker* const w = context;
  uint32_t const other = 1 - tutti_rank(w->world);
  tutti_error own_error;
  for (int i = 0; i != rounds && w->failed == 0; ++i) {
    int64_t x[300], y[300];
    if (w->number == 0) { /* one thread of each rank has the collective operations */
      x[0] = i;
      w->failed = tutti_allreduce(w->world, x, x, 1, TUTTI_INT64, TUTTI_SUM, NULL, &own_error) != TUTTI_OK ||
                  x[0] != 2 * (int64_t)i;
      continue;
    }
    tutti_request *sent = NULL, *received = NULL;
    x[299] = i;
    w->failed = tutti_send(w->world, x, 300, TUTTI_INT64, other, &sent, &own_error) != TUTTI_OK ||
                tutti_recv(w->world, y, 300, TUTTI_INT64, other, &received, &own_error) != TUTTI_OK ||
                tutti_wait(&sent, -1, &own_error) != TUTTI_OK || tutti_wait(&received, -1, &own_error) != TUTTI_OK;
  }
  if (w->failed) {
    fprintf(stderr, "thread %u: %s\n", w->number, own_error.text);
  }
  return NULL;
}
static void threaded(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_options with_thread = options;
  with_thread.background = 1;
  tutti_world* const world = join_world(rank, n, store, &with_thread);
  struct worker workers[threads];
  pthread_t ids[threads];
  for (uint32_t t = 0; t != threads; ++t) {
    workers[t] = (struct worker){world, t, 0};
    CHECK(pthread_create(&ids[t], NULL, work, &workers[t]) == 0);
  }
  for (uint32_t t = 0; t != threads; ++t) {
    pthread_join(ids[t], NULL);
    CHECK(!workers[t].failed);
  }
  tutti_leave(world);
}

/* With a thread of the library, a call that waits keeps no other thread from what its peers wait for. */
static void* send_one(void* context) {
  tutti_world* const world = context;
  tutti_error own_error;
  float x = 3;
  return tutti_send(world, &x, 1, TUTTI_FLOAT32, 1, NULL, &own_error) == TUTTI_OK ? NULL : context;
}
static void* meet(void* context) {
  tutti_error own_error;
  return tutti_barrier(context, NULL, &own_error) == TUTTI_OK ? NULL : context;
}
static void crossed(uint32_t rank, uint32_t n, tutti_store const* store) {
  tutti_options with_thread = options;
  with_thread.background = 1;
  tutti_world* const world = join_world(rank, n, store, &with_thread);
  for (int i = 0; i != 20; ++i) {
    float x = 0;
    if (rank == 1) { /* the barrier of rank 0 ends after its send has arrived */
      SUCCEEDS(tutti_recv(world, &x, 1, TUTTI_FLOAT32, 0, NULL, &error));
      CHECK(x == 3);
      SUCCEEDS(tutti_barrier(world, NULL, &error));
      continue;
    }
    pthread_t first, second;
    void *first_failed = NULL, *second_failed = NULL;
    CHECK(pthread_create(&first, NULL, meet, world) == 0 && pthread_create(&second, NULL, send_one, world) == 0);
    char text[4];
    CHECK(tutti_explain(world, "allreduce", 4, text, sizeof text) > 3);
    pthread_join(first, &first_failed);
    pthread_join(second, &second_failed);
    CHECK(first_failed == NULL && second_failed == NULL);
  }
  tutti_leave(world);
}

enum { without_thread = 1, with_thread = 2, both_ways = 3 };

int main(void) {
  struct {
    char const* name;
    rank_body body;
    uint32_t size, killed;
    int ways;
  } const cases[] = {
      {"misuse", misuse, 1, 1, without_thread},
      {"misuse_world", misuse_world, 2, 2, both_ways},
      {"wrong_topology", wrong_topology, 2, 2, without_thread},
      {"different_transports", different_transports, 2, 2, without_thread},
      {"mismatch", mismatch, 2, 2, both_ways},
      {"late_rank", late_rank, 3, 3, both_ways},
      {"killed", killed, 3, 1, both_ways},
      {"aborted", aborted, 3, 3, both_ways},
      {"cancelled", cancelled, 2, 2, both_ways},
      {"left", left, 2, 2, without_thread},
      {"forked", forked, 2, 2, both_ways},
      {"chained", chained, 3, 3, with_thread},
      {"threaded", threaded, 2, 2, with_thread},
      {"crossed", crossed, 2, 2, with_thread},
  };
  char const* const transports[] = {"shared_memory", "tcp"};
  int failures = 0;
  for (size_t c = 0; c != sizeof cases / sizeof *cases; ++c) {
    for (int v = 0; v != 4; ++v) {
      options.transport = transports[v % 2];
      options.background = v / 2;
      if ((cases[c].ways & (v / 2 == 0 ? without_thread : with_thread)) == 0) {
        continue;
      }
      if (run_ranks(cases[c].size, cases[c].body, cases[c].killed) != 0) {
        fprintf(stderr, "%s over %s, background %d\n", cases[c].name, options.transport, options.background);
        ++failures;
      }
    }
  }
  return failures != 0;
}
