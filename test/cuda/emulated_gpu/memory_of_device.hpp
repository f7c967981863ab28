// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// Where these bytes of device memory, or of pinned memory, lie for the host; a program that means no such memory ends.
extern "C" std::byte* emulated_gpu_memory(void const* device_pointer, std::size_t bytes);
