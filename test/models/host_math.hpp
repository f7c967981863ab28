// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bfloat16.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/cuda/detail/device/math.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

/// A device's math on the host: plain loops, with numbers rounded as a device rounds them. A job runs only when it is
/// waited for. So a reader that does not wait gets the earlier content, which is NaNs in new memory.
namespace models {

namespace geometry = tutti::nn::geometry;

/// The jobs of a stream that have not run yet.
class lazy_stream {
 public:
  using job = std::function<void()>;
  struct queue {
    std::deque<job> jobs;
    std::size_t ran = 0;

    void run_to(std::size_t end) {
      while (ran < end) {
        auto const now = std::move(jobs.front());
        jobs.pop_front();
        ++ran;
        now();
      }
    }
  };

  void enqueue(job j) { queue_->jobs.push_back(std::move(j)); }
  [[nodiscard]] std::shared_ptr<queue> const& shared_queue() const noexcept { return queue_; }
  [[nodiscard]] std::size_t end() const noexcept { return queue_->ran + queue_->jobs.size(); }

 private:
  std::shared_ptr<queue> queue_ = std::make_shared<queue>();
};

struct lazy_event {
  std::shared_ptr<lazy_stream::queue> queue;
  std::size_t end = 0;

  void run() const {
    if (queue) {
      queue->run_to(end);
    }
  }
};

struct lazy_order {
  using stream_type = lazy_stream;
  using event_type = lazy_event;

  static void record(event_type& e, stream_type& s) { e = {s.shared_queue(), s.end()}; }
  static void hold(stream_type& s, event_type& e) {
    s.enqueue([e] { e.run(); });
  }
  /// Runs one more job at each query.
  [[nodiscard]] static bool has_run(event_type& e) {
    if (e.queue && e.queue->ran < e.end) {
      e.queue->run_to(e.queue->ran + 1);
    }
    return !e.queue || e.queue->ran >= e.end;
  }
  static void finish(event_type& e) { e.run(); }
};

/// @tparam Order defines streams and events, and when the jobs put into them run
template <class Order>
class basic_host_math : public Order {
 public:
  static constexpr std::string_view name = "host";
  using stream_type = typename Order::stream_type;
  using numbers_in = std::byte const*;

  [[nodiscard]] static int devices() { return 2; }
  basic_host_math(int, tutti::nn::precision p) : numbers_(p) {}

  static inline std::atomic<std::size_t> allocations = 0;

  [[nodiscard]] tutti::nn::precision numbers() const noexcept { return numbers_; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) {
    ++allocations;
    auto* const p = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(256)));
    std::memset(p, 0xff, bytes);  // NaNs in any precision
    return p;
  }
  [[nodiscard]] std::byte* allocate_host(std::size_t bytes) { return allocate(bytes); }
  void free(std::byte* p) { ::operator delete(p, std::align_val_t(256)); }
  void free_host(std::byte* p) { free(p); }
  [[nodiscard]] stream_type& stream() noexcept { return stream_; }
  [[nodiscard]] stream_type another_stream() const { return {}; }
  void upload(stream_type& s, std::byte* destination, std::byte const* source, std::size_t bytes) {
    s.enqueue([=] { std::memcpy(destination, source, bytes); });
  }
  void download(stream_type& s, std::byte* destination, std::byte const* source, std::size_t bytes) {
    upload(s, destination, source, bytes);
  }
  void copy(std::byte* destination, std::byte const* source, std::size_t bytes) {
    upload(stream_, destination, source, bytes);
  }
  void clear(std::byte* destination, std::size_t bytes) {
    stream_.enqueue([=] { std::memset(destination, 0, bytes); });
  }
  // --- layers with weights

  template <class L>
  void reserve(L const&, std::size_t) {}
  /// The size of stored weights: narrowed to the number format of a GPU's matrix units.
  [[nodiscard]] std::size_t weight_bytes(geometry::dense const& l) const { return stored_bytes(l.inputs * l.outputs); }
  [[nodiscard]] std::size_t weight_bytes(geometry::convolution const& l) const { return stored_bytes(l.weights()); }
  void convert_weights(geometry::dense const& l, float const* p, std::byte* destination) {
    narrow(l.inputs * l.outputs, p, destination);
  }
  void convert_weights(geometry::convolution const& l, float const* p, std::byte* destination) {
    narrow(l.weights(), p, destination);
  }

  using weights = tutti::nn::detail::device::weights;

  void forward(geometry::dense const& l, std::size_t rows, weights const& w, numbers_in x, std::byte* y) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.inputs);
      auto const matrix = read(w.native_weights, l.inputs * l.outputs);
      std::vector<float> output(rows * l.outputs);
      for (std::size_t r = 0; r != rows; ++r) {
        for (std::size_t o = 0; o != l.outputs; ++o) {
          double sum = 0;
          for (std::size_t i = 0; i != l.inputs; ++i) {
            sum += double{input[r * l.inputs + i]} * double{matrix[i * l.outputs + o]};
          }
          float const bias = w.parameters[l.inputs * l.outputs + o];
          output[r * l.outputs + o] = activate(l.activation, static_cast<float>(sum) + bias);
        }
      }
      write(output, y);
    });
  }
  void differentiate_sums(geometry::dense const& l, std::size_t rows, numbers_in y, std::byte* dy, float* gradients) {
    differentiate_sums(l.activation, rows, l.outputs, y, dy, gradients + l.inputs * l.outputs);
  }
  void differentiate_weights(geometry::dense const& l, std::size_t rows, numbers_in x, numbers_in dy,
                             float* gradients) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.inputs);
      auto const slope = read(dy, rows * l.outputs);
      for (std::size_t i = 0; i != l.inputs; ++i) {
        for (std::size_t o = 0; o != l.outputs; ++o) {
          double sum = 0;
          for (std::size_t r = 0; r != rows; ++r) {
            sum += double{input[r * l.inputs + i]} * double{slope[r * l.outputs + o]};
          }
          gradients[i * l.outputs + o] = static_cast<float>(sum);
        }
      }
    });
  }
  void differentiate_input(geometry::dense const& l, std::size_t rows, weights const& w, numbers_in dy, std::byte* dx) {
    stream_.enqueue([=, this] {
      auto const matrix = read(w.native_weights, l.inputs * l.outputs);
      auto const slope = read(dy, rows * l.outputs);
      std::vector<float> output(rows * l.inputs);
      for (std::size_t r = 0; r != rows; ++r) {
        for (std::size_t i = 0; i != l.inputs; ++i) {
          double sum = 0;
          for (std::size_t o = 0; o != l.outputs; ++o) {
            sum += double{slope[r * l.outputs + o]} * double{matrix[i * l.outputs + o]};
          }
          output[r * l.inputs + i] = static_cast<float>(sum);
        }
      }
      write(output, dx);
    });
  }

  void forward(geometry::convolution const& l, std::size_t rows, weights const& w, numbers_in x, std::byte* y) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.input.size());
      auto const matrix = read(w.native_weights, l.weights());
      std::vector<float> output(rows * l.output.size());
      for_each_product(l, rows,
                       [&](std::size_t i, std::size_t o, std::size_t k) { output[o] += input[i] * matrix[k]; });
      for (std::size_t o = 0; o != output.size(); ++o) {
        float const bias = l.bias ? w.parameters[l.weights() + o % l.output.channels] : 0.0F;
        output[o] = activate(l.activation, output[o] + bias);
      }
      write(output, y);
    });
  }
  void differentiate_sums(geometry::convolution const& l, std::size_t rows, numbers_in y, std::byte* dy,
                          float* gradients) {
    differentiate_sums(l.activation, rows * l.output.rows * l.output.columns, l.output.channels, y, dy,
                       l.bias ? gradients + l.weights() : nullptr);
  }
  void differentiate_weights(geometry::convolution const& l, std::size_t rows, numbers_in x, numbers_in dy,
                             float* gradients) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.input.size());
      auto const slope = read(dy, rows * l.output.size());
      std::vector<double> sums(l.weights());
      for_each_product(l, rows, [&](std::size_t i, std::size_t o, std::size_t k) {
        sums[k] += double{input[i]} * double{slope[o]};
      });
      std::ranges::transform(sums, gradients, [](double sum) { return static_cast<float>(sum); });
    });
  }
  void differentiate_input(geometry::convolution const& l, std::size_t rows, weights const& w, numbers_in dy,
                           std::byte* dx) {
    stream_.enqueue([=, this] {
      auto const matrix = read(w.native_weights, l.weights());
      auto const slope = read(dy, rows * l.output.size());
      std::vector<float> output(rows * l.input.size());
      for_each_product(l, rows,
                       [&](std::size_t i, std::size_t o, std::size_t k) { output[i] += slope[o] * matrix[k]; });
      write(output, dx);
    });
  }

  // --- layers without weights

  [[nodiscard]] static std::size_t cache_bytes(geometry::pooling const& l, std::size_t rows) {
    return l.kind == geometry::pooling_kind::mean ? 0 : rows * l.output.size() * sizeof(std::uint32_t);
  }
  void forward(geometry::pooling const& l, std::size_t rows, numbers_in x, std::byte* y, std::byte* indices) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.input.size());
      std::vector<float> output(rows * l.output.size());
      auto* const best_indices = reinterpret_cast<std::uint32_t*>(indices);
      for_each_place(l, rows, [&](std::size_t o, std::vector<std::size_t> const& window) {
        if (l.kind == geometry::pooling_kind::mean) {
          float sum = 0;
          for (std::size_t const i : window) {
            sum += input[i];
          }
          output[o] = sum / static_cast<float>(window.size());
          return;
        }
        std::size_t best = window.front();
        for (std::size_t const i : window) {
          best = input[i] > input[best] || (std::isnan(input[i]) && !std::isnan(input[best])) ? i : best;
        }
        output[o] = input[best];
        best_indices[o] = static_cast<std::uint32_t>(best);
      });
      write(output, y);
    });
  }
  void backward(geometry::pooling const& l, std::size_t rows, numbers_in, numbers_in, numbers_in indices, numbers_in dy,
                std::byte* dx) {
    stream_.enqueue([=, this] {
      auto const slope = read(dy, rows * l.output.size());
      std::vector<float> output(rows * l.input.size());
      auto const* const best_indices = reinterpret_cast<std::uint32_t const*>(indices);
      for_each_place(l, rows, [&](std::size_t o, std::vector<std::size_t> const& window) {
        if (l.kind == geometry::pooling_kind::largest) {
          output[best_indices[o]] += slope[o];
          return;
        }
        for (std::size_t const i : window) {
          output[i] += slope[o] / static_cast<float>(window.size());
        }
      });
      write(output, dx);
    });
  }

  void sums(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* statistics,
            float* destination) {
    stream_.enqueue([=, this] {
      auto const input = read(x, rows * l.image.size());
      std::size_t const channels = l.image.channels;
      std::vector<double> totals(2 * channels);
      for (std::size_t i = 0; i != input.size(); ++i) {
        double const difference = double{input[i]} - double{statistics[i % channels]};
        totals[i % channels] += difference;
        totals[channels + i % channels] += difference * difference;
      }
      std::ranges::transform(totals, destination, [](double sum) { return static_cast<float>(sum); });
      destination[2 * channels] = static_cast<float>(input.size() / channels);
    });
  }
  void forward(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* parameters,
               float const* sums, float* statistics, float* statistics_cache, std::byte* y) {
    stream_.enqueue([=, this] {
      std::size_t const channels = l.image.channels;
      float const n = sums[2 * channels];
      for (std::size_t c = 0; c != channels; ++c) {
        float const d = sums[c] / n;
        float const variance = std::max(sums[channels + c] / n - d * d, 0.0F);
        statistics_cache[c] = statistics[c] + d;
        statistics_cache[channels + c] = 1 / std::sqrt(variance + l.epsilon);
        statistics[c] += l.momentum * d;
        float& running = statistics[channels + c];
        running += l.momentum * (variance * n / std::max(n - 1, 1.0F) - running);
      }
      statistics_cache[2 * channels] = n;
      normalise(l, rows, x, parameters, statistics_cache, y);
    });
  }
  void inference(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* parameters,
                 float const* statistics, std::byte* y) {
    stream_.enqueue([=, this] {
      std::size_t const channels = l.image.channels;
      std::vector<float> moments(statistics, statistics + 2 * channels);
      for (std::size_t c = 0; c != channels; ++c) {
        moments[channels + c] = 1 / std::sqrt(moments[channels + c] + l.epsilon);
      }
      normalise(l, rows, x, parameters, moments.data(), y);
    });
  }
  void slopes(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* parameters,
              float const* statistics_cache, std::byte* dy, float* destination, float* gradients) {
    stream_.enqueue([=, this] {
      std::size_t const channels = l.image.channels;
      auto const input = read(x, rows * l.image.size());
      auto slope = read(dy, input.size());
      std::vector<double> totals(2 * channels);
      for (std::size_t i = 0; i != input.size(); ++i) {
        std::size_t const c = i % channels;
        float const sum = parameters[c] * statistics_cache[channels + c] * (input[i] - statistics_cache[c]) +
                          parameters[channels + c];
        slope[i] *= slope_of(l.activation, activate(l.activation, sum));
        totals[c] += double{slope[i]};
        totals[channels + c] += double{slope[i]} * (double{input[i]} - double{statistics_cache[c]});
      }
      write(slope, dy);
      for (std::size_t c = 0; c != channels; ++c) {
        destination[c] = static_cast<float>(totals[c]);
        destination[channels + c] = static_cast<float>(totals[channels + c]);
        gradients[c] = destination[channels + c] * statistics_cache[channels + c];
        gradients[channels + c] = destination[c];
      }
    });
  }
  void backward(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* parameters,
                float const* statistics_cache, float const* sums, numbers_in dy, std::byte* dx) {
    stream_.enqueue([=, this] {
      std::size_t const channels = l.image.channels;
      auto const input = read(x, rows * l.image.size());
      auto const slope = read(dy, input.size());
      std::vector<float> output(input.size());
      for (std::size_t i = 0; i != input.size(); ++i) {
        std::size_t const c = i % channels;
        float const spread = statistics_cache[channels + c];
        float const n = statistics_cache[2 * channels];
        output[i] =
            parameters[c] * spread *
            (slope[i] - sums[c] / n - (input[i] - statistics_cache[c]) * spread * spread * sums[channels + c] / n);
      }
      write(output, dx);
    });
  }

  void drop(geometry::dropout const& l, std::size_t rows, std::uint64_t key, std::size_t first_row, numbers_in source,
            std::byte* destination) {
    stream_.enqueue([=, this] {
      auto numbers = read(source, rows * l.numbers);
      for (std::size_t i = 0; i != numbers.size(); ++i) {
        tutti::nn::random_sequence random(key, first_row + i / l.numbers);
        random.discard(i % l.numbers);
        numbers[i] *= random() >> 32U < l.limit ? 0.0F : l.scale;
      }
      write(numbers, destination);
    });
  }
  void forward(geometry::channels_last const& l, std::size_t rows, numbers_in x, std::byte* y) {
    reorder(l, rows, x, y, true);
  }
  void backward(geometry::channels_last const& l, std::size_t rows, numbers_in dy, std::byte* dx) {
    reorder(l, rows, dy, dx, false);
  }
  void add_rectified(std::size_t count, numbers_in a, numbers_in b, std::byte* y) {
    stream_.enqueue([=, this] {
      auto sum = read(a, count);
      auto const other = read(b, count);
      for (std::size_t i = 0; i != count; ++i) {
        sum[i] = activate(tutti::nn::activation_kind::relu, sum[i] + other[i]);
      }
      write(sum, y);
    });
  }
  void split_slopes(std::size_t count, numbers_in y, std::byte* dy, std::byte* more) {
    stream_.enqueue([=, this] {
      auto const value = read(y, count);
      auto slope = read(dy, count);
      for (std::size_t i = 0; i != count; ++i) {
        slope[i] = value[i] > 0 ? slope[i] : 0.0F;
      }
      write(slope, dy);
      write(slope, more);
    });
  }
  void add(std::size_t count, numbers_in source, std::byte* destination) {
    stream_.enqueue([=, this] {
      auto sum = read(destination, count);
      auto const more = read(source, count);
      for (std::size_t i = 0; i != count; ++i) {
        sum[i] += more[i];
      }
      write(sum, destination);
    });
  }
  void normalise(geometry::weight_norm const& l, float const* parameters, float* destination) {
    stream_.enqueue([=] {
      std::copy_n(parameters, l.layer_parameters, destination);
      for_each_unit(
          l, parameters,
          [&](std::size_t first, std::size_t unit, double square, double) {
            for (std::size_t i = 0; i != l.length; ++i) {
              float const share = parameters[l.layer_parameters + unit] / static_cast<float>(std::sqrt(square));
              destination[first + i * l.units] = parameters[first + i * l.units] * share;
            }
          },
          parameters);
    });
  }
  void differentiate_norm(geometry::weight_norm const& l, float const* parameters, float const* slopes,
                          float* destination) {
    stream_.enqueue([=] {
      std::copy_n(slopes, l.layer_parameters, destination);
      for_each_unit(
          l, parameters,
          [&](std::size_t first, std::size_t unit, double square, double product) {
            destination[l.layer_parameters + unit] = static_cast<float>(product / std::sqrt(square));
            for (std::size_t i = 0; i != l.length; ++i) {
              std::size_t const at = first + i * l.units;
              destination[at] = static_cast<float>(double{parameters[l.layer_parameters + unit]} / std::sqrt(square) *
                                                   (double{slopes[at]} - double{parameters[at]} * product / square));
            }
          },
          slopes);
    });
  }

  // --- training steps

  void narrow(std::size_t count, float const* source, std::byte* destination) {
    stream_.enqueue([=, this] { write({source, source + count}, destination); });
  }
  void widen(std::size_t count, numbers_in source, float* destination) {
    stream_.enqueue([=, this] { std::ranges::copy(read(source, count), destination); });
  }
  void softmax_cross_entropy(std::size_t rows, std::size_t classes, numbers_in scores, std::uint8_t const* labels,
                             tutti::nn::detail::device::loss_step const& step, std::byte* derivatives, float* result) {
    stream_.enqueue([=, this] {
      auto row = read(scores, rows * classes);
      double loss = 0;
      float correct = 0;
      for (std::size_t r = 0; r != rows; ++r) {
        auto const logits = std::span(row).subspan(r * classes, classes);
        auto const best = std::ranges::max_element(logits);
        correct += best - logits.begin() == labels[r] ? 1.0F : 0.0F;
        float const top = *best;
        double total = 0;
        for (float const score : logits) {
          total += std::exp(double{score} - double{top});
        }
        double const smoothing{step.smoothing};
        for (std::size_t c = 0; c != classes; ++c) {
          double const target = (c == labels[r] ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
          double const distance = double{top} - double{logits[c]};
          loss += target == 0 ? 0 : target * (std::log(total) + distance);
          logits[c] = step.scale * static_cast<float>(std::exp(-distance) / total - target);
        }
      }
      result[0] = step.share * static_cast<float>(loss);
      result[1] = step.share * correct;
      if (derivatives != nullptr) {
        write(row, derivatives);
      }
    });
  }
  void unscale(std::size_t count, float factor, float const* source, float* destination, std::uint32_t* overflow) {
    stream_.enqueue([=] {
      for (std::size_t i = 0; i != count; ++i) {
        destination[i] = factor * source[i];
        if (!std::isfinite(destination[i])) {
          *overflow = 1;
        }
      }
    });
  }
  void accumulate(std::size_t count, float const* source, float* destination) {
    stream_.enqueue([=] { std::transform(source, source + count, destination, destination, std::plus<>()); });
  }
  void multiply(std::size_t count, float factor, float* numbers) {
    stream_.enqueue([=] { std::for_each_n(numbers, count, [factor](float& number) { number *= factor; }); });
  }
  void follow(std::size_t count, tutti::nn::detail::device::sgd_step const& step, float* w, float const* g, float* v) {
    stream_.enqueue([=] {
      for (std::size_t i = 0; i != count; ++i) {
        if (v == nullptr) {
          w[i] -= step.rate * g[i];
          continue;
        }
        float const decay = step.decay * w[i];
        float const s = step.is_corrected ? decay : step.decay == 0 ? g[i] : g[i] + decay;
        v[i] = step.momentum * v[i] + s;
        float const d = step.lookahead ? s + step.momentum * v[i] : v[i];
        w[i] -= step.rate * (step.is_corrected ? g[i] + d : d);
      }
    });
  }

 private:
  using kind = tutti::nn::activation_kind;

  [[nodiscard]] std::size_t stored_bytes(std::size_t count) const { return count * tutti::nn::bytes_of(numbers_); }
  [[nodiscard]] std::vector<float> read(numbers_in source, std::size_t count) const {
    std::vector<float> result(count);
    switch (numbers_) {
      case tutti::nn::precision::float32:
        std::copy_n(reinterpret_cast<float const*>(source), count, result.begin());
        break;
      case tutti::nn::precision::bfloat16:
        std::copy_n(reinterpret_cast<tutti::bfloat16 const*>(source), count, result.begin());
        break;
      case tutti::nn::precision::float16:
        std::copy_n(reinterpret_cast<tutti::half const*>(source), count, result.begin());
        break;
    }
    return result;
  }
  void write(std::vector<float> const& source, std::byte* destination) const {
    for (std::size_t i = 0; i != source.size(); ++i) {
      if (numbers_ == tutti::nn::precision::float32) {
        reinterpret_cast<float*>(destination)[i] = source[i];
      } else if (numbers_ == tutti::nn::precision::bfloat16) {
        reinterpret_cast<tutti::bfloat16*>(destination)[i] = tutti::bfloat16(source[i]);
      } else {
        reinterpret_cast<tutti::half*>(destination)[i] = tutti::half(source[i]);
      }
    }
  }

  [[nodiscard]] static float activate(kind a, float x) {
    switch (a) {
      case kind::relu:
        return x < 0 ? 0.0F : x;
      case kind::tanh:
        return std::tanh(x);
      case kind::sigmoid:
        return 1 / (1 + std::exp(-x));
      case kind::identity:
        break;
    }
    return x;
  }
  [[nodiscard]] static float slope_of(kind a, float y) {
    switch (a) {
      case kind::relu:
        return y > 0 ? 1.0F : 0.0F;
      case kind::tanh:
        return 1 - y * y;
      case kind::sigmoid:
        return y * (1 - y);
      case kind::identity:
        break;
    }
    return 1;
  }
  void differentiate_sums(kind a, std::size_t rows, std::size_t columns, numbers_in y, std::byte* dy, float* biases) {
    stream_.enqueue([=, this] {
      auto const value = read(y, rows * columns);
      auto slope = read(dy, rows * columns);
      std::vector<double> sums(columns);
      for (std::size_t i = 0; i != slope.size(); ++i) {
        slope[i] *= slope_of(a, value[i]);
        sums[i % columns] += double{slope[i]};
      }
      write(slope, dy);
      if (biases != nullptr) {
        std::ranges::transform(sums, biases, [](double sum) { return static_cast<float>(sum); });
      }
    });
  }
  /// Calls f(index of the input, index of the output, weight) for each product.
  template <class F>
  static void for_each_product(geometry::convolution const& l, std::size_t rows, F const& f) {
    std::size_t const ins = l.input.channels / l.groups;
    std::size_t const outs = l.output.channels / l.groups;
    std::size_t const side = l.filter_window.side;
    for (std::size_t place = 0; place != rows * l.output.rows * l.output.columns; ++place) {
      std::size_t const column = place % l.output.columns;
      std::size_t const row = place / l.output.columns % l.output.rows;
      std::size_t const image = place / (l.output.columns * l.output.rows);
      for (std::size_t k = 0; k != side * side; ++k) {
        std::size_t const i =
            row * l.filter_window.stride + k / side - l.filter_window.padding;  // wraps above the first row
        std::size_t const j = column * l.filter_window.stride + k % side - l.filter_window.padding;
        if (i >= l.input.rows || j >= l.input.columns) {
          continue;
        }
        std::size_t const pixel = ((image * l.input.rows + i) * l.input.columns + j) * l.input.channels;
        for (std::size_t g = 0; g != l.groups; ++g) {
          for (std::size_t c = 0; c != ins; ++c) {
            for (std::size_t o = 0; o != outs; ++o) {
              f(pixel + g * ins + c, place * l.output.channels + g * outs + o,
                ((g * side * side + k) * ins + c) * outs + o);
            }
          }
        }
      }
    }
  }
  /// Calls f(index of the output, indices of the input elements under its window).
  template <class F>
  static void for_each_place(geometry::pooling const& l, std::size_t rows, F const& f) {
    std::vector<std::size_t> window;
    for (std::size_t o = 0; o != rows * l.output.size(); ++o) {
      std::size_t const channel = o % l.output.channels;
      std::size_t const column = o / l.output.channels % l.output.columns;
      std::size_t const row = o / (l.output.channels * l.output.columns) % l.output.rows;
      std::size_t const image = o / l.output.size();
      window.clear();
      for (std::size_t i = l.vertical.begin(row); i != l.vertical.end(row, l.input.rows); ++i) {
        for (std::size_t j = l.horizontal.begin(column); j != l.horizontal.end(column, l.input.columns); ++j) {
          window.push_back(((image * l.input.rows + i) * l.input.columns + j) * l.input.channels + channel);
        }
      }
      f(o, window);
    }
  }
  void normalise(geometry::batch_norm const& l, std::size_t rows, numbers_in x, float const* parameters,
                 float const* moments, std::byte* y) const {
    std::size_t const channels = l.image.channels;
    auto numbers = read(x, rows * l.image.size());
    for (std::size_t i = 0; i != numbers.size(); ++i) {
      std::size_t const c = i % channels;
      numbers[i] = activate(
          l.activation, parameters[c] * moments[channels + c] * (numbers[i] - moments[c]) + parameters[channels + c]);
    }
    write(numbers, y);
  }
  void reorder(geometry::channels_last const& l, std::size_t rows, numbers_in source, std::byte* destination,
               bool forward) {
    stream_.enqueue([=, this] {
      auto const input = read(source, rows * l.image.size());
      std::vector<float> output(input.size());
      std::size_t const pixels = l.image.rows * l.image.columns;
      for (std::size_t i = 0; i != input.size(); ++i) {
        std::size_t const image = i / l.image.size() * l.image.size();
        std::size_t const c = i % l.image.size() / pixels;
        std::size_t const channels_last_index = image + i % pixels * l.image.channels + c;
        (forward ? output[channels_last_index] : output[i]) = forward ? input[i] : input[channels_last_index];
      }
      write(output, destination);
    });
  }
  /// Calls f(offset of v, index of the unit, |v| squared, v times the other vector at its place) for each unit.
  template <class F>
  static void for_each_unit(geometry::weight_norm const& l, float const* parameters, F const& f, float const* other) {
    for (std::size_t unit = 0; unit != l.blocks * l.units; ++unit) {
      std::size_t const first = unit / l.units * l.length * l.units + unit % l.units;
      double square = 0;
      double product = 0;
      for (std::size_t i = 0; i != l.length; ++i) {
        double const v = parameters[first + i * l.units];
        square += v * v;
        product += v * double{other[first + i * l.units]};
      }
      f(first, unit, square, product);
    }
  }

  tutti::nn::precision numbers_;
  stream_type stream_;
};

using host_math = basic_host_math<lazy_order>;

static_assert(tutti::nn::detail::device::device_math<host_math>);

}  // namespace models
