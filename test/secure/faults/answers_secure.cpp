// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#include <faults/answers.hpp>
#include <tutti/secure.hpp>

int main(int argc, char** argv) {
  return tutti::faults::compare_answers<tutti::secure_tcp, laws::plain_parts, laws::types<tutti::sum<std::int64_t>>,
                                        laws::types<laws::triple>>(argc, argv, 25);
}
