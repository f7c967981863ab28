/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_TEST_C_RANKS_H
#define TUTTI_TEST_C_RANKS_H

#include <tutti/c.h>

/* Fails the rank with this line unless the condition holds. */
#define CHECK(condition)                                                                      \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      fprintf(stderr, "%s:%d: rank %u: not %s\n", __FILE__, __LINE__, this_rank, #condition); \
      exit(1);                                                                                \
    }                                                                                         \
  } while (0)
/* Fails the rank unless the call returns TUTTI_OK; `error` describes the failure. */
#define SUCCEEDS(call)                                                                               \
  do {                                                                                               \
    if ((call) != TUTTI_OK) {                                                                        \
      fprintf(stderr, "%s:%d: rank %u: %s: %s\n", __FILE__, __LINE__, this_rank, #call, error.text); \
      exit(1);                                                                                       \
    }                                                                                                \
  } while (0)

extern uint32_t this_rank;
extern tutti_error error;

/* The body of a rank. `store` is where the ranks meet. */
typedef void (*rank_body)(uint32_t rank, uint32_t size, tutti_store const* store);

/* Runs the body in `size` processes, which meet in a folder of their own. Returns 0 if all of them end well; `killed`
 * is a rank that may be killed, or `size`. */
int run_ranks(uint32_t size, rank_body body, uint32_t killed);

/* Joins a world of all ranks. Fails the rank if that fails. */
tutti_world* join_world(uint32_t rank, uint32_t size, tutti_store const* store, tutti_options const* options);

#endif
