// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// A rendezvous whose member secret() is not one that the library can call would give its ranks no secret.

#include <tutti/communicator.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/transport/tcp.hpp>

#include <string>
#include <string_view>
#include <vector>

struct seats {
  static constexpr bool one_host = true;
  static tutti::rank_type rank() { return 0; }
  static tutti::rank_type size() { return 1; }
  static std::vector<std::string> exchange(std::string_view text) { return {std::string(text)}; }
};
struct no_secret : seats {};
struct proper_secret : seats {
  static tutti::world_secret secret() { return {}; }
};
struct changing : seats {
  tutti::world_secret secret() { return {}; }
};
struct textual : seats {
  static std::string secret() { return "a text that nobody else knows"; }
};
struct choosing : seats {
  static tutti::world_secret secret(int) { return {}; }
};
struct holding : seats {
  tutti::world_secret secret;
};

void join(no_secret& none, proper_secret& proper, changing& not_const, textual& text, choosing& with_argument,
          holding& object) {
  tutti::communicator<tutti::tcp> const first(none);
  tutti::communicator<tutti::tcp> const second(proper);
#ifdef MISTAKE
  tutti::communicator<tutti::tcp> const third(not_const);      // error: public, const member function
  tutti::communicator<tutti::tcp> const fourth(text);          // error: public, const member function
  tutti::communicator<tutti::tcp> const fifth(with_argument);  // error: public, const member function
  tutti::communicator<tutti::tcp> const sixth(object);         // error: public, const member function
#endif
}

int main() {}
