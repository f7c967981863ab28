// SPDX-License-Identifier: Apache-2.0
//
// A program that uses two libraries, without tutti of its own. Their threads and processes take turns.

extern "C" int one();
extern "C" int two();

int main() {
  int const first = one();
  int const second = two();
  return first + second + one();
}
