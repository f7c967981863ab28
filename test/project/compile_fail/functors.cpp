// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// Functions and elements that make no reduction: each error gives the reason.

#include <tutti/half.hpp>
#include <tutti/reduction/reduce_with.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>

struct no_default {
  int x;
  no_default() = delete;
  explicit no_default(int v) : x(v) {}
};
struct alignas(32) wide {
  int x[8];
};

int add(int a, int b);
void drop(int a, int b);

void use(std::unique_ptr<int> number, no_default identity) {
  auto const first = [](auto const& a, auto const&) { return a; };
  auto const negate = [](float a) { return a; };
  auto const append = [](std::string const& a, std::string const& b) { return a + b; };
  auto const texts = [](float, float) { return std::string(); };
  auto owning = [o = std::move(number)](int a, int b) { return a + b + *o; };
  std::function<int(int, int)> const wrapper = add;

  static_cast<void>(tutti::reduce_with<int>(add, tutti::function_name<"add">));
  static_cast<void>(tutti::reduce_with<int>(wrapper, tutti::function_name<"add">));
  static_cast<void>(tutti::reduce_with<no_default>(first, identity));
  static_cast<void>(tutti::reduce_with<float>(first, 0, tutti::associative));
  static_cast<void>(tutti::reduce_with<tutti::half>([](float a, float b) { return a * b; }));
#ifdef MISTAKE
  tutti::reduce_with<std::string>(append);  // error: not trivially copyable, such as std::string
  tutti::reduce_with<std::string>(append, std::string(), tutti::associative);  // error: not trivially copyable
  tutti::reduce_with<wide>(first);                                             // error: aligned to 16 bytes or less
  tutti::reduce_with<int const>(first);                                        // error: objects that are not const
  tutti::reduce_with<float>(negate);                            // error: this function does not combine two elements
  tutti::reduce_with<float>(negate, 0, tutti::associative);     // error: this function does not combine two elements
  tutti::reduce_with<float>(texts);                             // error: this function does not combine two elements
  tutti::reduce_with<int>(drop, tutti::function_name<"none">);  // error: this function does not combine two elements
  tutti::reduce_with<int>(1);                                   // error: this function does not combine two elements
  tutti::reduce_with<int>(std::move(owning));                   // error: this function cannot be copied
  tutti::reduce_with<int>(add);                                 // error: give tutti::function_name<
  tutti::reduce_with<int>(wrapper, tutti::associative);         // error: give tutti::function_name<
  tutti::reduce_with<no_default>(first);                        // error: without a T\{\} need an identity
#endif
}

int main() {}
