/* SPDX-License-Identifier: Apache-2.0 */
#include <tutti/c.h>

#include <stdio.h>

int main(void) {
  tutti_world* world;
  tutti_error error;
  float x = 7;
  if (tutti_join(NULL, &world, &error) != TUTTI_OK ||
      tutti_allreduce(world, &x, &x, 1, TUTTI_FLOAT32, TUTTI_SUM, NULL, &error) != TUTTI_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  tutti_leave(world);
  return x == 7 ? 0 : 1;
}
