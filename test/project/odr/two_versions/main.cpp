// SPDX-License-Identifier: Apache-2.0
//
// A program that uses two libraries, without tutti of its own. Their threads and processes take turns.

extern "C" int check_first();
extern "C" int check_second();

int main() {
  int const first = check_first();
  int const second = check_second();
  return first + second + check_first();
}
