// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The interface between the trainer's model and a device. `device_math` is a vendor's class for one rank: memory,
/// streams, and the arithmetic of layers. Everything else - the order of layers, the places of their numbers, the
/// exchange between ranks - is written once, over that concept, and tested with a model of it on the host.
///
/// **Words.** A *float* is a float in device memory. A *number* is an element in device memory of the precision with
/// which the math was made (float, bfloat16, half); its address is a byte address. A *batch* is `rows` rows of
/// numbers, at least one, without gaps. A row that is an image has NHWC order as on the CPU: row by row, pixel by
/// pixel, with the channels of a pixel adjacent. Biases, weights, gradients, statistics and scores are always floats,
/// in the order of the structs of `nn::geometry`, which is the CPU's.
///
/// **Order.** Each call enqueues work in the stream `stream()`, unless it names another, and does not wait for it.
/// Work in a stream runs in order. Arguments that are not in device memory have been read when a call returns.
///
/// **Memory.** A call reads memory as the caller, or earlier calls in the stream, left it. It overwrites everything
/// that its comment names, whatever the old values, NaNs included, and nothing else; it adds to memory only if the
/// comment says so. Inputs and outputs do not overlap, unless one argument is both or the comment allows it. Addresses
/// of batches and whole vectors are multiples of 256, those of a layer's parameters, gradients and statistics only of
/// 4. Copies take the destination first, like memcpy; arithmetic takes inputs first.
///
/// **Values.** Arithmetic uses floats, or more precision, and rounds once, when a number is written. Products in float
/// are products of floats: no TF32. Equal arguments give equal bits, from run to run (no atomic sums of floats). NaNs
/// and infinities propagate as in IEEE 754.
///
/// **Failure.** A call may throw a std::exception that says what failed and how to help.
///
/// **Threads.** One thread at a time uses a math. Several maths in a process are independent, even on one device.
namespace tutti::inline v0_1_0::nn::detail::device {

/// A layer's parameters: floats in the order of the CPU, and the math's own form of them, if any, from the last
/// `convert_weights`, such as weights as numbers in the order that its products need.
struct weights {
  float const* parameters = nullptr;
  std::byte const* native_weights = nullptr;
};

/// A step of sgd for weight w, gradient g and velocity v. Each operation is rounded separately (no product is fused
/// with a sum), because ranks on CPUs make the same step and must get the same bits:
///
///     s = decay == 0 ? g : g + decay w;   v = momentum v + s;   w = w - rate d
///
/// Here d = v, or with `lookahead` d = s + momentum v. If `is_corrected`, momentum has been applied before: without a
/// velocity w = w - rate g; with one, s = decay w, v = momentum v + s, and w = w - rate (g + d).
struct sgd_step {
  float rate = 0;
  float momentum = 0;
  float decay = 0;
  bool lookahead = false;
  bool is_corrected = false;
};

/// The factors of a batch's loss.
struct loss_step {
  float share = 0;      ///< factor of loss and count
  float scale = 0;      ///< factor of the derivatives
  float smoothing = 0;  ///< label smoothing
};

/// Memory, streams and events of one device. The current device of a thread may be another one.
///
/// - `devices()` is the number of devices; a math is constructed with the number of one, and a precision.
/// - `allocate` returns device memory, aligned to 256 bytes, that kernels of peers reach like the memory of operators
///   on devices; `allocate_host` returns pinned host memory, aligned to 256. Both are uninitialized. The size is not
///   0. `free` and `free_host` take memory back once nothing enqueued uses it; the model waits for that first.
/// - `stream()` is the stream of arithmetic; `another_stream()` makes one of the same device.
/// - `upload(stream, destination, source, bytes)` and `download` enqueue a copy between memory of `allocate_host` and
///   of the device. Host memory is read, or written, when the copy runs; the caller does not touch it before.
///   `copy(destination, source, bytes)` copies within device memory, `clear(destination, bytes)` zeroes it, both in
///   `stream()`.
/// - `record` makes an event stand for all work in the stream so far; `hold` makes later work in a stream wait for the
///   event as last recorded. `has_run` tests on the host, and `finish` waits, until the event's work has run, which is
///   true of an event never recorded. Both throw if the work failed.
template <class M>
concept device_memory_and_order =
    requires(M& m, M const& c, typename M::stream_type& s, typename M::event_type& e, std::byte* destination,
             std::byte const* source, std::size_t bytes, precision p) {
      { M::name } -> std::convertible_to<std::string_view>;
      { M::devices() } -> std::same_as<int>;
      requires std::constructible_from<M, int, precision>;
      requires std::default_initializable<typename M::event_type>;
      { c.numbers() } -> std::same_as<precision>;
      { m.allocate(bytes) } -> std::same_as<std::byte*>;
      { m.allocate_host(bytes) } -> std::same_as<std::byte*>;
      m.free(destination);
      m.free_host(destination);
      { m.stream() } -> std::same_as<typename M::stream_type&>;
      { m.another_stream() } -> std::same_as<typename M::stream_type>;
      m.upload(s, destination, source, bytes);
      m.download(s, destination, source, bytes);
      m.copy(destination, source, bytes);
      m.clear(destination, bytes);
      m.record(e, s);
      m.hold(s, e);
      { m.has_run(e) } -> std::same_as<bool>;
      m.finish(e);
    };

/// Layers with weights, L = geometry::dense or geometry::convolution.
///
/// - `reserve(l, rows)` prepares for batches of up to `rows` rows; afterwards no call for that layer allocates device
///   memory.
/// - `weight_bytes(l)` bytes of device memory per layer belong to the math: `convert_weights(l, parameters,
///   native_weights)` writes its own form of the layer's parameters there. May be 0; then native_weights is null.
/// - `forward(l, rows, w, x, y)` writes y = activation(x W + b), or of the convolution.
/// - `differentiate_sums(l, rows, y, dy, gradients)` multiplies dy by the derivative of the activation, a function of
///   its value y (relu: 1 if y > 0, else 0; tanh: 1 - y^2; sigmoid: y (1 - y)). Writes the sums over rows, or pixels,
///   of the product to the gradients of the biases, if the layer has biases.
/// - `differentiate_weights(l, rows, x, dy, gradients)` writes the gradients of the weights, with dy from the call
///   before.
/// - `differentiate_input(l, rows, w, dy, dx)` writes the derivative by x.
template <class M, class L>
concept device_products = requires(M& m, L const& l, std::size_t rows, weights const& w, float const* parameters,
                                   float* gradients, std::byte const* input, std::byte* output) {
  m.reserve(l, rows);
  { m.weight_bytes(l) } -> std::same_as<std::size_t>;
  m.convert_weights(l, parameters, output);
  m.forward(l, rows, w, input, output);
  m.differentiate_sums(l, rows, input, output, gradients);
  m.differentiate_weights(l, rows, input, input, gradients);
  m.differentiate_input(l, rows, w, input, output);
};

/// Layers without weights.
///
/// Pooling. `reserve(l, rows)` as for layers with weights. `cache_bytes(l, rows)` bytes of device memory pass from
/// forward to backward, such as the index of the largest pixel; may be 0.
/// - `forward(l, rows, x, y, cache)` writes y and the cache.
/// - `backward(l, rows, x, y, cache, dy, dx)` writes dx; x, y and the cache are as forward read and wrote them.
///
/// Batch normalisation over P = rows x pixels of an image, C channels. It has five parts, so that ranks can add up the
/// sums between them. `cache` are 2 C + 1 floats of the math, from the forward of a batch to its backward.
/// - `sums(l, rows, x, statistics, sums)` writes 2 C + 1 floats: the sums over pixels of x - running mean, of the
///   squares of that, and P.
/// - `forward(l, rows, x, parameters, sums, statistics, cache, y)`: with n = sums[2 C], d = sums[c] / n and variance =
///   max(sums[C + c] / n - d^2, 0), the batch's mean is running mean + d. Writes y; adds momentum d to the running
///   mean, and momentum (variance n / max(n - 1, 1) - running variance) to the running variance.
/// - `inference(l, rows, x, parameters, statistics, y)` writes y by the running statistics.
/// - `slopes(l, rows, x, parameters, cache, dy, sums, gradients)` multiplies dy by the derivative of the activation.
///   Writes the 2 C sums over pixels of dy, and of dy (x - mean). Writes the gradients: gamma's, the latter times
///   spread = 1 / sqrt(variance + epsilon), then beta's, the former.
/// - `backward(l, rows, x, parameters, cache, sums, dy, dx)` writes dx = f dy - f sums[c] / n - (x - mean) f spread^2
///   sums[C + c] / n, with f = gamma spread, and n from `forward`; the sums may be those of all ranks.
///
/// Dropout: `drop(l, rows, key, first_row, input, output)` writes `output`, with key = random_sequence(l.key, step)().
/// Used for forward and backward.
///
/// Channels last: `forward(l, rows, x, y)`, and its inverse `backward(l, rows, dy, dx)`.
///
/// Residual blocks, over `count` numbers: `add_rectified(count, a, b, y)` writes y = max(a + b, 0), keeping NaNs.
/// `split_slopes(count, y, dy, copy)` sets dy to 0 unless y > 0, and copies it to `copy`. `add(count, addends, sums)`
/// adds to numbers.
///
/// Weight normalisation, on floats: `normalise(l, parameters, inner_parameters)` writes the parameters of the inner
/// layer to `inner_parameters`. `differentiate_norm(l, parameters, slopes, gradients)` writes gradients, with n = v /
/// |v| dg = dw n and dv = g / |v| (dw - dg n), where dw are `slopes`, the gradients of the inner layer. Gradients of
/// its other parameters are copied.
template <class M>
concept device_layers = requires(
    M& m, geometry::pooling const& pooling, geometry::batch_norm const& norm, geometry::dropout const& dropout,
    geometry::channels_last const& order, geometry::weight_norm const& lengths, std::size_t rows, std::uint64_t key,
    std::size_t count, float const* floats, float* output_floats, std::byte const* input, std::byte* output) {
  m.reserve(pooling, rows);
  { m.cache_bytes(pooling, rows) } -> std::same_as<std::size_t>;
  m.forward(pooling, rows, input, output, output);
  m.backward(pooling, rows, input, input, input, input, output);
  m.reserve(norm, rows);
  m.sums(norm, rows, input, floats, output_floats);
  m.forward(norm, rows, input, floats, floats, output_floats, output_floats, output);
  m.inference(norm, rows, input, floats, floats, output);
  m.slopes(norm, rows, input, floats, floats, output, output_floats, output_floats);
  m.backward(norm, rows, input, floats, floats, floats, input, output);
  m.drop(dropout, rows, key, count, input, output);
  m.forward(order, rows, input, output);
  m.backward(order, rows, input, output);
  m.add_rectified(count, input, input, output);
  m.split_slopes(count, input, output, output);
  m.add(count, input, output);
  m.normalise(lengths, floats, output_floats);
  m.differentiate_norm(lengths, floats, floats, output_floats);
};

/// Arithmetic of a step beyond its layers.
///
/// - `narrow(count, floats, numbers)` rounds floats to numbers, `widen(count, numbers, floats)` converts back.
/// - `softmax_cross_entropy(rows, classes, scores, labels, step, derivatives, result)`: `scores` are the last layer's
///   numbers; labels are bytes in device memory, each below the number of classes. With s = step.smoothing, the target
///   of a row is t[c] = (1 - s) [c == label] + s / classes. Writes two floats: step.share times the sum over rows of
///   -sum t[c] log softmax(row)[c], and step.share times the number of rows whose largest number, the first of equal
///   ones, is at the label. Unless `derivatives` is null, writes there, as numbers, step.scale times the derivative of
///   each row's loss by its numbers, softmax - t.
/// - `unscale(count, factor, scaled_gradients, gradients, overflow)` writes gradients[i] = factor
///   scaled_gradients[i], and sets the word `overflow` to 1 if a result is not finite; otherwise the word is unchanged.
///   Both may be the same memory.
/// - `accumulate(count, addends, sums)` adds floats to floats, each sum rounded once;
///   `multiply(count, factor, numbers)` multiplies floats.
/// - `follow(count, step, weights, gradients, velocity)` is a step of sgd; `velocity` is null if it has none. The
///   addresses are multiples of 4.
template <class M>
concept device_step_math =
    requires(M& m, std::size_t rows, std::size_t count, float factor, sgd_step const& step, loss_step const& loss,
             float const* floats, float* output_floats, std::byte const* input, std::byte* output,
             std::uint8_t const* labels, std::uint32_t* overflow) {
      m.narrow(count, floats, output);
      m.widen(count, input, output_floats);
      m.softmax_cross_entropy(rows, count, input, labels, loss, output, output_floats);
      m.unscale(count, factor, floats, output_floats, overflow);
      m.accumulate(count, floats, output_floats);
      m.multiply(count, factor, output_floats);
      m.follow(count, step, output_floats, floats, output_floats);
    };

/// Everything that a device provides to the trainer.
///
/// Laws (test/nn/cuda/device/device_math_laws.hpp): each operation agrees with the CPU's layer, relative error 1e-4 in
/// float and 2e-2 in bfloat16; `follow`, `accumulate`, `multiply`, `drop` in float have its bits.
template <class M>
concept device_math = device_memory_and_order<M> && device_products<M, geometry::dense> &&
                      device_products<M, geometry::convolution> && device_layers<M> && device_step_math<M>;

}  // namespace tutti::nn::detail::device
