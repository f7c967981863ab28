// error: tutti needs IEEE 754: compile this unit without -ffast-math
// mistake: -ffast-math
// SPDX-License-Identifier: Apache-2.0
//
// Flags that remove checks for NaN are refused before anything else.

#include <tutti/extend/element.hpp>

int main() {}
