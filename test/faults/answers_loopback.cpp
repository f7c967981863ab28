// SPDX-License-Identifier: Apache-2.0
// test: address (which memory is read and written, not when)
#include <faults/answers.hpp>
#include <tutti/transport/loopback.hpp>

int main(int argc, char** argv) {
  using reductions = laws::types<tutti::sum<float>, tutti::min<std::int32_t>, tutti::prod<std::complex<double>>,
                                 tutti::min_location<float>, laws::wide_mean, laws::composition>;
  using moved_types = laws::types<laws::triple, std::complex<double>>;
  return tutti::faults::compare_answers<tutti::loopback, laws::plain_parts, reductions, moved_types>(argc, argv, 50);
}
