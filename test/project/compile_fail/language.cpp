// error: tutti needs C\+\+20: compile with -std=c\+\+20
// mistake: -std=c++17
// SPDX-License-Identifier: Apache-2.0
//
// An older language is refused before anything else.

#include <tutti/tutti.hpp>

int main() {}
