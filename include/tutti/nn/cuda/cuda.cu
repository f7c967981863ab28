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
struct as_they_are {
  float* to;

  __device__ void operator()(std::size_t i, float sum) const {
    if (to != nullptr) {
      to[i] = sum;
    }
  }
};
/// Writes the sums of batch normalisation, and the number of their pixels.
struct with_count {
  float* to;
  std::size_t count;
  float pixels;

  __device__ void operator()(std::size_t i, float sum) const {
    to[i] = sum;
    if (i == 0) {
      to[count] = pixels;
    }
  }
};
/// Writes the sums of batch normalisation's derivatives, and the gradients.
struct with_gradients {
  float* to;
  float* gradients;
  device::norm_kept kept;

  __device__ void operator()(std::size_t i, float sum) const {
    to[i] = sum;
    if (i < kept.channels) {
      gradients[kept.channels + i] = sum;
    } else {
      gradients[i - kept.channels] = sum * kept.spread(i - kept.channels);
    }
  }
};

__global__ void finish_norms(geometry::batch_norm const l, float const* sums, float* statistics,
                             device::norm_kept const kept) {
  std::size_t const c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < l.image.channels) {
    device::finish_norm(l, c, sums, statistics, kept);
  }
}

[[nodiscard]] std::size_t pixels_of(geometry::batch_norm const& l, std::size_t rows) {
  return rows * l.image.rows * l.image.columns;
}
/// The layout of `kept` for backward, which only reads it.
[[nodiscard]] device::norm_kept kept_of(geometry::batch_norm const& l, float const* kept) {
  return {const_cast<float*>(kept), l.image.channels};
}

}  // namespace

std::size_t partial_floats(std::size_t channels) {
  return 2 * channels * columns_layout::most_parts(channels);
}
std::size_t loss_floats() {
  return 2 * loss_blocks;
}

void add_bias(place const& p, activation_kind kind, std::size_t pixels, std::size_t channels, float const* bias,
              std::byte* y) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_any_activation(kind, [&](auto k) {
      for_columns<T>("adding biases", p.in, pixels, channels, device::bias_and_activation<decltype(k)::value>{bias}, y,
                     nullptr, y);
    });
  });
}

void take_slopes(place const& p, activation_kind kind, std::size_t pixels, std::size_t channels, std::byte const* y,
                 std::byte* dy, float* sums, float* partial) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_any_activation(kind, [&](auto k) {
      using operation = device::activation_slopes<decltype(k)::value>;
      if constexpr (operation::inputs == 1) {
        for_columns<T>("summing slopes", p.in, pixels, channels, operation{}, dy, nullptr, dy, partial,
                       as_they_are{sums});
      } else {
        for_columns<T>("taking slopes", p.in, pixels, channels, operation{}, y, dy, dy, partial, as_they_are{sums});
      }
    });
  });
}

void add_norm_sums(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                   float const* statistics, float* sums, float* partial) {
  std::size_t const pixels = pixels_of(l, rows);
  std::size_t const channels = l.image.channels;
  with_numbers(p.numbers, [&]<class T>(T) {
    for_columns<T>("summing a batch", p.in, pixels, channels, device::norm_sums{statistics}, x, nullptr, nullptr,
                   partial, with_count{sums, 2 * channels, static_cast<float>(pixels)});
  });
}

void normalise_batch(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* sums, float* statistics, float* kept, std::byte* y) {
  device::norm_kept const k{kept, l.image.channels};
  finish_norms<<<blocks_for(l.image.channels), block_threads, 0, p.in>>>(l, sums, statistics, k);
  check_launch("finishing sums of a batch");
  with_numbers(p.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("normalising a batch", p.in, pixels_of(l, rows), l.image.channels,
                     device::norm_forward<decltype(kind)::value>{parameters, k}, x, nullptr, y);
    });
  });
}

void normalise_by_statistics(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                             float const* parameters, float const* statistics, std::byte* y) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("normalising by statistics", p.in, pixels_of(l, rows), l.image.channels,
                     device::norm_inference<decltype(kind)::value>{parameters, statistics, l.image.channels, l.epsilon},
                     x, nullptr, y);
    });
  });
}

void add_norm_slopes(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                     float const* parameters, float const* kept, std::byte* dy, float* sums, float* gradients,
                     float* partial) {
  device::norm_kept const k = kept_of(l, kept);
  with_numbers(p.numbers, [&]<class T>(T) {
    with_norm_activation(l.activation, [&](auto kind) {
      for_columns<T>("summing slopes of a batch", p.in, pixels_of(l, rows), l.image.channels,
                     device::norm_slopes<decltype(kind)::value>{{parameters, k}}, x, dy, dy, partial,
                     with_gradients{sums, gradients, k});
    });
  });
}

void differentiate_norm_input(place const& p, geometry::batch_norm const& l, std::size_t rows, std::byte const* x,
                              float const* parameters, float const* kept, float const* sums, std::byte const* dy,
                              std::byte* dx) {
  with_numbers(p.numbers, [&]<class T>(T) {
    for_columns<T>("differentiating a normalised batch", p.in, pixels_of(l, rows), l.image.channels,
                   device::norm_backward{parameters, kept_of(l, kept), sums}, x, dy, dx);
  });
}

void pool(place const& p, geometry::pooling const& l, std::size_t rows, std::byte const* x, std::byte* y,
          std::byte* kept) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_width<T>(l.output.channels, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      pooling_call<T> const call{l, rows, numbers_at<T>(x), numbers_at<T>(y), numbers_at<device::pooled_from>(kept)};
      pool_images<v><<<blocks_of_rows(l.output.size() / v, rows), block_threads, 0, p.in>>>(call);
      check_launch("pooling");
    });
  });
}

void pool_backward(place const& p, geometry::pooling const& l, std::size_t rows, std::byte const* kept,
                   std::byte const* dy, std::byte* dx) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_width<T>(l.output.channels, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      pooling_call<T> const call{l, rows, numbers_at<T>(dy), numbers_at<T>(dx),
                                 numbers_at<device::pooled_from>(const_cast<std::byte*>(kept))};
      differentiate_pool<v><<<blocks_of_rows(l.input.size() / v, rows), block_threads, 0, p.in>>>(call);
      check_launch("differentiating a pooling");
    });
  });
}

void transpose(place const& p, std::size_t count, std::size_t rows, std::size_t columns, std::byte const* from,
               std::byte* to) {
  with_numbers(p.numbers,
               [&]<class T>(T) { transpose_all(p.in, count, rows, columns, numbers_at<T>(from), numbers_at<T>(to)); });
}
void transpose_narrowed(place const& p, std::size_t count, std::size_t rows, std::size_t columns, float const* from,
                        std::byte* to) {
  with_numbers(p.numbers, [&]<class T>(T) { transpose_all(p.in, count, rows, columns, from, numbers_at<T>(to)); });
}
void transpose_widened(place const& p, std::size_t count, std::size_t rows, std::size_t columns, std::byte const* from,
                       float* to) {
  with_numbers(p.numbers, [&]<class T>(T) { transpose_all(p.in, count, rows, columns, numbers_at<T>(from), to); });
}

void drop(place const& p, geometry::dropout const& l, std::size_t rows, std::uint64_t key, std::size_t first_row,
          std::byte const* from, std::byte* to) {
  with_numbers(p.numbers, [&]<class T>(T) {
    with_width<T>(l.numbers, [&](auto width) {
      constexpr std::size_t v = decltype(width)::value;
      dropping_call<T> const call{l, rows, key, first_row, numbers_at<T>(from), numbers_at<T>(to)};
      drop_numbers<v><<<blocks_of_rows(l.numbers / v, rows), block_threads, 0, p.in>>>(call);
      check_launch("dropout");
    });
  });
}

void add_rectified(place const& p, std::size_t count, std::byte const* a, std::byte const* b, std::byte* y) {
  with_numbers(p.numbers, [&]<class T>(T) {
    for_elements("adding a residual", p.in, count, device::added_and_rectified<T>{}, to(numbers_at<T>(y)),
                 numbers_at<T>(a), numbers_at<T>(b));
  });
}
void split_slopes(place const& p, std::size_t count, std::byte const* y, std::byte* dy, std::byte* more) {
  with_numbers(p.numbers, [&]<class T>(T) {
    T* const slopes = numbers_at<T>(dy);
    for_elements("splitting slopes", p.in, count, device::slope_of_rectified<T>{}, to(slopes, numbers_at<T>(more)),
                 numbers_at<T>(y), static_cast<T const*>(slopes));
  });
}
void add(place const& p, std::size_t count, std::byte const* from, std::byte* sum) {
  with_numbers(p.numbers, [&]<class T>(T) {
    T* const all = numbers_at<T>(sum);
    for_elements("adding numbers", p.in, count, device::added<T>{}, to(all), static_cast<T const*>(all),
                 numbers_at<T>(from));
  });
}
void narrow(place const& p, std::size_t count, float const* from, std::byte* numbers) {
  with_numbers(p.numbers, [&]<class T>(T) {
    for_elements("rounding floats", p.in, count, device::converted<T>{}, to(numbers_at<T>(numbers)), from);
  });
}
void widen(place const& p, std::size_t count, std::byte const* from, float* floats) {
  with_numbers(p.numbers, [&]<class T>(T) {
    for_elements("widening numbers", p.in, count, device::converted<float>{}, to(floats), numbers_at<T>(from));
  });
}

void unscale(cudaStream_t in, std::size_t count, float factor, float const* from, float* made,
             std::uint32_t* overflow) {
  for_elements("unscaling gradients", in, count, device::unscaled{factor, overflow}, to(made), from);
}
void accumulate(cudaStream_t in, std::size_t count, float const* from, float* sums) {
  for_elements("accumulating", in, count, device::added<float>{}, to(sums), static_cast<float const*>(sums), from);
}
void multiply(cudaStream_t in, std::size_t count, float factor, float* numbers) {
  for_elements("multiplying", in, count, device::multiplied{factor}, to(numbers), static_cast<float const*>(numbers));
}
void follow(cudaStream_t in, std::size_t count, device::sgd_step const& step, float* weights, float const* gradients,
            float* velocity) {
  if (velocity == nullptr) {
    for_elements("a step of sgd", in, count, device::followed_at_once{step}, to(weights),
                 static_cast<float const*>(weights), gradients);
  } else {
    for_elements("a step of sgd with momentum", in, count, device::followed{step}, to(weights, velocity),
                 static_cast<float const*>(weights), static_cast<float const*>(velocity), gradients);
  }
}

void normalise_weights(cudaStream_t in, geometry::weight_norm const& l, float const* parameters, float* made) {
  std::size_t const weights = l.blocks * l.length * l.units;
  for_weights(in, l, {l.length, l.units, parameters, parameters + l.layer_parameters, nullptr, made, nullptr});
  for_elements("copying what else a layer learns", in, l.layer_parameters - weights, device::converted<float>{},
               to(made + weights), parameters + weights);
}
void differentiate_weight_norm(cudaStream_t in, geometry::weight_norm const& l, float const* parameters,
                               float const* slopes, float* gradients) {
  std::size_t const weights = l.blocks * l.length * l.units;
  for_weights(in, l, {l.length, l.units, parameters, parameters + l.layer_parameters, slopes, gradients, gradients + l.layer_parameters});
  for_elements("copying what else a layer learns", in, l.layer_parameters - weights, device::converted<float>{},
               to(gradients + weights), slopes + weights);
}

void softmax_cross_entropy(place const& p, std::size_t rows, std::size_t classes, std::byte const* scores,
                           std::uint8_t const* labels, float share, float scale, std::byte* derivatives, float* result,
                           float* partial) {
  with_numbers(p.numbers, [&]<class T>(T) {
    add_losses<T>(p.in, {rows, classes, numbers_at<T>(scores), labels, scale, numbers_at<T>(derivatives), partial},
                  share, result);
  });
}

}  // namespace tutti::nn::detail::runtime
