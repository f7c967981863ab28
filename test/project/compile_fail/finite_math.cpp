// error: tutti needs IEEE 754: compile this unit without -ffast-math
// mistake: -ffinite-math-only
// SPDX-License-Identifier: Apache-2.0
//
// One of these flags alone is refused, too.

#include <tutti/extend/element.hpp>

int main() {}
