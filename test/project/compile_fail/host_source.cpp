// error: include it in a .cu file
// SPDX-License-Identifier: Apache-2.0
//
// What launches kernels is for nvcc.

#ifdef MISTAKE
#include <tutti/cuda/peers.hpp>
#endif

int main() {}
