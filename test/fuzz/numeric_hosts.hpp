// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <netdb.h>

/// Resolves numbers only: a fuzz target asks no name server.
extern "C" int getaddrinfo(char const* host, char const* service, addrinfo const* hints, addrinfo** results) {
  static auto const resolve = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  addrinfo numeric = *hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  return resolve(host, service, &numeric, results);
}
