// SPDX-License-Identifier: Apache-2.0
//
// The headers are in the folder that the package names.

#include <tutti/version.hpp>

int main() {
  return TUTTI_VERSION_MAJOR + TUTTI_VERSION_MINOR + TUTTI_VERSION_PATCH != 0 ? 0 : 1;
}
