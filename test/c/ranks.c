/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint32_t this_rank;
tutti_error error;

/* A store in a folder: a file for each key, written under another name first. */
static void path_of(char* path, size_t room, void* context, char const* key, char const* end) {
  int const length = snprintf(path, room, "%s/", (char const*)context);
  int const whole = snprintf(path + length, room - (size_t)length, "%s%s", key, end);
  (void)whole;
  for (char* c = path + length; *c != '\0'; ++c) {
    *c = *c == '/' ? '_' : *c;
  }
}
static int set(void* context, char const* key, void const* value, size_t bytes) {
  char path[512], draft[512];
  path_of(path, sizeof path, context, key, "");
  path_of(draft, sizeof draft, context, key, ".draft");
  FILE* file = fopen(draft, "wb");
  if (file == NULL) {
    return 1;
  }
  int const failed = fwrite(value, 1, bytes, file) != bytes;
  return fclose(file) != 0 || failed || rename(draft, path) != 0;
}
static int64_t get(void* context, char const* key, void* to, size_t room) {
  char path[512];
  path_of(path, sizeof path, context, key, "");
  FILE* file = NULL;
  time_t const limit = time(NULL) + 60;
  while (file == NULL && time(NULL) < limit) {
    file = fopen(path, "rb");
  }
  if (file == NULL) {
    return -1;
  }
  struct stat facts;
  int64_t const length = fstat(fileno(file), &facts) == 0 ? (int64_t)facts.st_size : -1;
  if (length >= 0 && (size_t)length <= room && fread(to, 1, (size_t)length, file) != (size_t)length) {
    fclose(file);
    return -1;
  }
  fclose(file);
  return length;
}

int run_ranks(uint32_t size, rank_body body, uint32_t killed) {
  char folder[] = "/tmp/tutti_c_XXXXXX";
  if (mkdtemp(folder) == NULL) {
    perror(folder);
    return 1;
  }
  tutti_store const store = {set, get, folder};
  pid_t children[64];
  for (uint32_t r = 0; r != size; ++r) {
    children[r] = fork();
    if (children[r] == 0) {
      alarm(120);
      this_rank = r;
      body(r, size, &store);
      exit(0);
    }
  }
  int failed = 0;
  for (uint32_t r = 0; r != size; ++r) {
    int status = 0;
    waitpid(children[r], &status, 0);
    int const is_due = r == killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (status != 0 && !is_due) {
      fprintf(stderr, "rank %u of %u ended with status %d\n", r, size, status);
      failed = 1;
    }
  }
  char command[64];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command) != 0 || failed;
}

tutti_world* join_world(uint32_t rank, uint32_t size, tutti_store const* store, tutti_options const* options) {
  tutti_world* world = NULL;
  SUCCEEDS(tutti_join_store(store, rank, size, options, &world, &error));
  CHECK(world != NULL && tutti_rank(world) == rank && tutti_size(world) == size);
  return world;
}
