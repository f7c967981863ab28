// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#include <faults/answers.hpp>
#include <tutti/transport/shared_memory.hpp>

int main(int argc, char** argv) {
  // Accumulators that are not elements, and an order of ranks: no transport depends on more.
  using reductions = laws::types<laws::wide_mean, laws::composition>;
  using moved_types = laws::types<laws::triple>;
  return tutti::faults::compare_answers<tutti::shared_memory, laws::plain_parts, reductions, moved_types>(argc, argv,
                                                                                                          25);
}
