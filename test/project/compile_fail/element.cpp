// error: (constraint|concept).*element|is_trivially_copyable
// SPDX-License-Identifier: Apache-2.0
//
// Elements are copied as bytes: a std::string cannot be sent.

#include <tutti/extend/buffer.hpp>

#include <string>
#include <vector>

int main() {
  std::vector<int> numbers(3);
  auto n = tutti::elements(numbers).size();
#ifdef MISTAKE
  std::vector<std::string> words(3);
  n += tutti::elements(words).size();
#endif
  return static_cast<int>(n);
}
