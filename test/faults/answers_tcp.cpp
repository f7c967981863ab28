// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (the engine is the same over loopback, ranks are processes)
#include <faults/answers.hpp>
#include <tutti/transport/tcp.hpp>

int main(int argc, char** argv) {
  using reductions =
      laws::types<tutti::prod<std::complex<double>>, tutti::min_location<float>, laws::wide_mean, laws::composition>;
  using moved_types = laws::types<laws::triple, std::complex<double>>;
  return tutti::faults::compare_answers<tutti::tcp, laws::plain_parts, reductions, moved_types>(argc, argv, 25);
}
