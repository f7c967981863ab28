// SPDX-License-Identifier: Apache-2.0
// test: plain one_compiler (processes are killed)
#include <faults/kills.hpp>
#include <tutti/secure.hpp>

int main(int argc, char** argv) {
  using namespace tutti::faults;
  return run_trials(argc, argv, "kills ranks of secure_tcp and their parents at random moments", 50, kind_of_kill,
                    trial_of_kills<tutti::secure_tcp>);
}
