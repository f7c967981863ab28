// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the trainer on GPUs, for nvcc of CUDA 13. Compiled once per program:
// `nvcc -std=c++20 --expt-relaxed-constexpr -arch=sm_90 -O3 -c cuda.cu`; or link tutti::nn_cuda.
// Define TUTTI_SEPARATE_COMPILATION if the program does.
#include <tutti/nn/cuda/detail/runtime/column_kernels.hpp>
#include <tutti/nn/cuda/detail/runtime/image_kernels.hpp>
#include <tutti/nn/cuda/detail/runtime/kernels.hpp>
#include <tutti/nn/cuda/detail/runtime/row_kernels.hpp>

namespace tutti::inline v0_1_0::nn::detail::runtime {

namespace {

/// Writes plain sums, if they are wanted.
struct sum_writer {
  float* sums;

  __device__ void operator()(std::size_t i, float sum) const {
    if (sums != nullptr) {
      sums[i] = sum;
    }
  }
};
/// Writes the sums of batch normalisation, and the number of their pixels.
struct norm_sum_writer {
  float* sums;
  std::size_t count;
  float pixels;

  __device__ void operator()(std::size_t i, float sum) const {
    sums[i] = sum;
    if (i == 0) {
      sums[count] = pixels;
    }
  }
};
/// Writes the sums of batch normalisation's derivatives, and the gradients.
struct norm_gradient_writer {
  float* sums;
  float* gradients;
  device::norm_cache cache;

  __device__ void operator()(std::size_t i, float sum) const {
    sums[i] = sum;
    if (i < cache.channels) {
      gradients[cache.channels + i] = sum;
    } else {
      gradients[i - cache.channels] = sum * cache.spread(i - cache.channels);
    }
  }
};

__global__ void finish_norms(geometry::batch_norm const l, float const* sums, float* statistics,
                             device::norm_cache const cache) {
  std::size_t const c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < l.image.channels) {
    device::finish_norm(l, c, sums, statistics, cache);
  }
}

[[nodiscard]] std::size_t pixels_of(geometry::batch_norm const& l, std::size_t rows) {
  return rows * l.image.rows * l.image.columns;
}
/// The layout of `cache` for backward, which only reads it.
[[nodiscard]] device::norm_cache layout_of(geometry::batch_norm const& l, float const* cache) {
  return {const_cast<float*>(cache), l.image.channels};
}

}  // namespace

std::size_t partial_floats(std::size_t channels) {
  return 2 * channels * columns_layout::max_parts(channels);
}
std::size_t loss_floats() {
  return 2 * loss_blocks;
}

void add_bias(launch_context const& context, activation_kind kind, std::size_t pixels, std::size_t channels,
              float const* bias, std::byte* y) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_any_activation(kind, [&](auto constant) {
      for_columns<T>("adding biases", context.stream, pixels, channels,
                     device::bias_and_activation<decltype(constant)::value>{bias}, y, nullptr, y);
    });
  });
}

void take_slopes(launch_context const& context, activation_kind kind, std::size_t pixels, std::size_t channels,
                 std::byte const* y, std::byte* dy, float* sums, float* partial) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_any_activation(kind, [&](auto constant) {
      using operation = device::activation_slopes<decltype(constant)::value>;
      if constexpr (operation::inputs == 1) {
        for_columns<T>("summing slopes", context.stream, pixels, channels, operation{}, dy, nullptr, dy, partial,
                       sum_writer{sums});
      } else {
        for_columns<T>("taking slopes", context.stream, pixels, channels, operation{}, y, dy, dy, partial,
                       sum_writer{sums});
      }
    });
  });
}

void add_norm_sums(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                   float const* statistics, float* sums, float* partial) {
  std::size_t const pixels = pixels_of(l, rows);
  std::size_t const channels = l.image.channels;
  with_numbers(context.numbers, [&]<class T>(T) {
    for_columns<T>("summing a batch", context.stream, pixels, channels, device::norm_sums{statistics}, x, nullptr,
                   nullptr, partial, norm_sum_writer{sums, 2 * channels, static_cast<float>(pixels)});
  });
}

void normalise_batch(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* sums, float* statistics, float* cache, std::byte* y) {
  device::norm_cache const layout{cache, l.image.channels};
  finish_norms<<<blocks_for(l.image.channels), block_threads, 0, context.stream>>>(l, sums, statistics, layout);
  check_launch("finishing sums of a batch");
  with_numbers(context.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("normalising a batch", context.stream, pixels_of(l, rows), l.image.channels,
                     device::norm_forward<decltype(kind)::value>{parameters, layout}, x, nullptr, y);
    });
  });
}

void normalise_by_statistics(launch_context const& context, geometry::batch_norm const& l, std::size_t rows,
                             std::byte const* x, float const* parameters, float const* statistics, std::byte* y) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("normalising by statistics", context.stream, pixels_of(l, rows), l.image.channels,
                     device::norm_inference<decltype(kind)::value>{parameters, statistics, l.image.channels, l.epsilon},
                     x, nullptr, y);
    });
  });
}

void add_norm_slopes(launch_context const& context, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* cache, std::byte* dy, float* sums, float* gradients,
                     float* partial) {
  device::norm_cache const layout = layout_of(l, cache);
  with_numbers(context.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("summing slopes of a batch", context.stream, pixels_of(l, rows), l.image.channels,
                     device::norm_slopes<decltype(kind)::value>{{parameters, layout}}, x, dy, dy, partial,
                     norm_gradient_writer{sums, gradients, layout});
    });
  });
}

void differentiate_norm_input(launch_context const& context, geometry::batch_norm const& l, std::size_t rows,
                              std::byte const* x, float const* parameters, float const* cache, float const* sums,
                              std::byte const* dy, std::byte* dx) {
  with_numbers(context.numbers, [&]<class T>(T) {
    for_columns<T>("differentiating a normalised batch", context.stream, pixels_of(l, rows), l.image.channels,
                   device::norm_backward{parameters, layout_of(l, cache), sums}, x, dy, dx);
  });
}

void pool(launch_context const& context, geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y,
          std::byte* cache) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_width<T>(l.output.channels, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      pooling_call<T> const call{l, rows, numbers_at<T>(x), numbers_at<T>(y), numbers_at<device::window_index>(cache)};
      pool_images<v><<<blocks_of_rows(l.output.size() / v, rows), block_threads, 0, context.stream>>>(call);
      check_launch("pooling");
    });
  });
}

void pool_backward(launch_context const& context, geometry::pooling const& l, std::size_t rows, std::byte const* cache,
                   std::byte const* dy, std::byte* dx) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_width<T>(l.output.channels, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      pooling_call<T> const call{l, rows, numbers_at<T>(dy), numbers_at<T>(dx),
                                 numbers_at<device::window_index>(const_cast<std::byte*>(cache))};
      differentiate_pool<v><<<blocks_of_rows(l.input.size() / v, rows), block_threads, 0, context.stream>>>(call);
      check_launch("differentiating a pooling");
    });
  });
}

void transpose(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
               std::byte const* source, std::byte* destination) {
  with_numbers(context.numbers, [&]<class T>(T) {
    transpose_all(context.stream, count, rows, columns, numbers_at<T>(source), numbers_at<T>(destination));
  });
}
void transpose_narrowed(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
                        float const* source, std::byte* destination) {
  with_numbers(context.numbers, [&]<class T>(T) {
    transpose_all(context.stream, count, rows, columns, source, numbers_at<T>(destination));
  });
}
void transpose_widened(launch_context const& context, std::size_t count, std::size_t rows, std::size_t columns,
                       std::byte const* source, float* destination) {
  with_numbers(context.numbers, [&]<class T>(T) {
    transpose_all(context.stream, count, rows, columns, numbers_at<T>(source), destination);
  });
}

void drop(launch_context const& context, geometry::dropout const& l, std::size_t rows, std::uint64_t key,
          std::size_t first_row, std::byte const* input, std::byte* output) {
  with_numbers(context.numbers, [&]<class T>(T) {
    with_width<T>(l.numbers, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      dropping_call<T> const call{l, rows, key, first_row, numbers_at<T>(input), numbers_at<T>(output)};
      drop_numbers<v><<<blocks_of_rows(l.numbers / v, rows), block_threads, 0, context.stream>>>(call);
      check_launch("dropout");
    });
  });
}

void add_rectified(launch_context const& context, std::size_t count, std::byte const* a, std::byte const* b,
                   std::byte* y) {
  with_numbers(context.numbers, [&]<class T>(T) {
    for_elements("adding a residual", context.stream, count, device::rectifying_adder<T>{}, places_at(numbers_at<T>(y)),
                 numbers_at<T>(a), numbers_at<T>(b));
  });
}
void split_slopes(launch_context const& context, std::size_t count, std::byte const* y, std::byte* dy,
                  std::byte* copy) {
  with_numbers(context.numbers, [&]<class T>(T) {
    T* const slopes = numbers_at<T>(dy);
    for_elements("splitting slopes", context.stream, count, device::slope_of_rectified<T>{},
                 places_at(slopes, numbers_at<T>(copy)), numbers_at<T>(y), static_cast<T const*>(slopes));
  });
}
void add(launch_context const& context, std::size_t count, std::byte const* addends, std::byte* sums) {
  with_numbers(context.numbers, [&]<class T>(T) {
    T* const sum_numbers = numbers_at<T>(sums);
    for_elements("adding numbers", context.stream, count, device::adder<T>{}, places_at(sum_numbers),
                 static_cast<T const*>(sum_numbers), numbers_at<T>(addends));
  });
}
void narrow(launch_context const& context, std::size_t count, float const* floats, std::byte* numbers) {
  with_numbers(context.numbers, [&]<class T>(T) {
    for_elements("rounding floats", context.stream, count, device::converter<T>{}, places_at(numbers_at<T>(numbers)),
                 floats);
  });
}
void widen(launch_context const& context, std::size_t count, std::byte const* numbers, float* floats) {
  with_numbers(context.numbers, [&]<class T>(T) {
    for_elements("widening numbers", context.stream, count, device::converter<float>{}, places_at(floats),
                 numbers_at<T>(numbers));
  });
}

void unscale(cudaStream_t stream, std::size_t count, float factor, float const* scaled_gradients, float* gradients,
             std::uint32_t* overflow) {
  for_elements("unscaling gradients", stream, count, device::unscaler{factor, overflow}, places_at(gradients),
               scaled_gradients);
}
void accumulate(cudaStream_t stream, std::size_t count, float const* addends, float* sums) {
  for_elements("accumulating", stream, count, device::adder<float>{}, places_at(sums), static_cast<float const*>(sums),
               addends);
}
void multiply(cudaStream_t stream, std::size_t count, float factor, float* numbers) {
  for_elements("multiplying", stream, count, device::multiplier{factor}, places_at(numbers),
               static_cast<float const*>(numbers));
}
void follow(cudaStream_t stream, std::size_t count, device::sgd_step const& step, float* weights,
            float const* gradients, float* velocity) {
  if (velocity == nullptr) {
    for_elements("a step of sgd", stream, count, device::plain_step{step}, places_at(weights),
                 static_cast<float const*>(weights), gradients);
  } else {
    for_elements("a step of sgd with momentum", stream, count, device::momentum_step{step},
                 places_at(weights, velocity), static_cast<float const*>(weights), static_cast<float const*>(velocity),
                 gradients);
  }
}

void normalise_weights(cudaStream_t stream, geometry::weight_norm const& l, float const* parameters,
                       float* inner_parameters) {
  std::size_t const weights = l.blocks * l.length * l.units;
  for_weights(stream, l, {l.length, l.units, parameters, parameters + l.layer_parameters, nullptr, inner_parameters, nullptr});
  for_elements("copying what else a layer learns", stream, l.layer_parameters - weights, device::converter<float>{},
               places_at(inner_parameters + weights), parameters + weights);
}
void differentiate_weight_norm(cudaStream_t stream, geometry::weight_norm const& l, float const* parameters,
                               float const* slopes, float* gradients) {
  std::size_t const weights = l.blocks * l.length * l.units;
  for_weights(stream, l,
              {l.length, l.units, parameters, parameters + l.layer_parameters, slopes, gradients, gradients + l.layer_parameters});
  for_elements("copying what else a layer learns", stream, l.layer_parameters - weights, device::converter<float>{},
               places_at(gradients + weights), slopes + weights);
}

void softmax_cross_entropy(launch_context const& context, std::size_t rows, std::size_t classes,
                           std::byte const* scores, std::uint8_t const* labels, device::loss_step const& step,
                           std::byte* derivatives, float* result, float* partial) {
  with_numbers(context.numbers, [&]<class T>(T) {
    add_losses<T>(context.stream,
                  {rows, classes, numbers_at<T>(scores), labels, step, numbers_at<T>(derivatives), partial}, result);
  });
}

}  // namespace tutti::nn::detail::runtime
