// SPDX-License-Identifier: Apache-2.0
// test: address (which memory is read and written, not when)
#include <faults/answers.hpp>
#include <laws/library_parts.hpp>
#include <tutti/transport/loopback.hpp>

int main(int argc, char** argv) {
  using reductions = laws::types<tutti::sum<std::complex<float>>, tutti::min_location<float>>;
  return tutti::faults::compare_answers<tutti::loopback, laws::library_parts, reductions,
                                        laws::types<std::complex<double>>>(argc, argv, 30);
}
