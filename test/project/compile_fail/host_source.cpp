// error: include it in a .cu file
// SPDX-License-Identifier: Apache-2.0
//
// Headers that launch kernels are for nvcc only.

#ifdef MISTAKE
#include <tutti/cuda/peers.hpp>
#endif

int main() {}
