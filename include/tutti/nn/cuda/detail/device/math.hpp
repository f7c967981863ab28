// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/precision.hpp>
#include <tutti/nn/extend/geometry.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The trainer's model on a device. What a vendor gives is `device_math`, a class for one rank: memory, streams, and
/// the arithmetic of layers. All else - which layer computes when, where its numbers lie, what ranks exchange - is
/// written once, over that concept, and tested with a model of it on the host.
///
/// **Words.** A *float* is a float in device memory. A *number* is of the precision that the math was made with (float,
/// bfloat16, half), in device memory; addresses of numbers are those of bytes. A *batch* is `rows` rows of numbers, row
/// after row without gaps; rows is at least 1. A row that is an image lies row by row, pixel by pixel, the channels of
/// a pixel beside each other (NHWC), as on the CPU. Biases, weights, gradients, statistics and scores are always
/// floats, laid out as the structs of `nn::geometry` say, which is the CPU's order.
///
/// **Order.** Each call puts work into the stream `stream()`, unless it names another, and returns without waiting for
/// it. What is in a stream runs in order. Arguments that are not in device memory have been read when a call returns.
///
/// **Memory.** What a call reads is as the caller left it, or as an earlier call in the stream did; it writes all that
/// its comment says, over anything, NaNs included, and nothing else. It adds to memory only where that is said. Inputs
/// and outputs of a call do not overlap, unless it names one argument for both, or says so. Addresses of batches and of
/// whole vectors are multiples of 256, those of a layer's parameters, gradients and statistics only of 4. Copies name
/// first where they write, as memcpy does; arithmetic names first what it reads.
///
/// **Values.** Numbers are computed with as floats, or more precisely, and rounded once, when they are written.
/// Products in float are products of floats: no TF32. The same arguments give the same bits, from run to run (no atomic
/// sums of floats). NaNs and infinities go through, as IEEE 754 has them.
///
/// **Failure.** A call may throw a std::exception, which says what failed and what helps.
///
/// **Threads.** One thread at a time uses a math. Several maths of one process are independent, on one device or not.
namespace tutti::inline v0_1_0::nn::detail::device {

/// A layer's parameters: floats in the order of the CPU; and what `take_weights` made of them last, if the math keeps
/// anything of its own, such as weights as numbers in the order that its products want.
struct weights {
  float const* parameters = nullptr;
  std::byte const* kept = nullptr;
};

/// A step of sgd. For weight w, gradient g and velocity v, with each operation rounded by itself (no product is fused
/// with a sum), because ranks on CPUs make the same step and must get the same bits:
///
///     s = decay == 0 ? g : g + decay w;   v = momentum v + s;   w = w - rate d
///
/// where d = v, or with `lookahead` d = s + momentum v. If `corrected`, momentum has run before: without a velocity
/// w = w - rate g; with one, s = decay w, v = momentum v + s, and w = w - rate (g + d).
struct sgd_step {
  float rate = 0;
  float momentum = 0;
  float decay = 0;
  bool lookahead = false;
  bool corrected = false;
};

/// Memory, streams and events of one device. Threads may have another one as their own meanwhile.
///
///   - `devices()` says how many there are; a math is made of the number of one, and a precision.
///   - `allocate` gives device memory, aligned to 256 bytes, which kernels of peers reach as they do the memory of
///     operators on devices; `allocate_host` host memory whose pages are pinned, aligned to 256. Neither has a value.
///     Any number of bytes but 0. `free` and `free_host` take it back, at any time from then on that nothing enqueued
///     uses it; the model waits for that first.
///   - `stream()` is where arithmetic goes; `another_stream()` makes another one of the same device.
///   - `upload(stream, to, from, bytes)` and `download` put a copy into that stream, between memory of `allocate_host`
///     and of the device. Host memory is read, or written, when the copy runs: the caller keeps it as it is until then.
///     `copy(to, from, bytes)` is one in device memory, `clear(to, bytes)` makes bytes zeros, both in `stream()`.
///   - `record` makes an event stand for all that is in that stream now; `hold` makes all that is put into the stream
///     from then on wait for an event as it was last recorded. `has_run` asks, `finish` waits, on the host, until what
///     an event stands for has run; of an event that was never recorded all has. Both throw if it failed.
template <class M>
concept device_memory_and_order = requires(M& m, M const& c, typename M::stream_type& s, typename M::event_type& e,
                                           std::byte* to, std::byte const* from, std::size_t bytes, precision p) {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::devices() } -> std::same_as<int>;
  requires std::constructible_from<M, int, precision>;
  requires std::default_initializable<typename M::event_type>;
  { c.numbers() } -> std::same_as<precision>;
  { m.allocate(bytes) } -> std::same_as<std::byte*>;
  { m.allocate_host(bytes) } -> std::same_as<std::byte*>;
  m.free(to);
  m.free_host(to);
  { m.stream() } -> std::same_as<typename M::stream_type&>;
  { m.another_stream() } -> std::same_as<typename M::stream_type>;
  m.upload(s, to, from, bytes);
  m.download(s, to, from, bytes);
  m.copy(to, from, bytes);
  m.clear(to, bytes);
  m.record(e, s);
  m.hold(s, e);
  { m.has_run(e) } -> std::same_as<bool>;
  m.finish(e);
};

/// Layers with weights, L = geometry::dense or geometry::convolution.
///
///   - `reserve(l, rows)` makes ready what batches of up to so many rows take; afterwards no call for that layer
///     allocates device memory.
///   - `weight_bytes(l)` of device memory are the math's own for each such layer: `take_weights(l, parameters, kept)`
///     writes there what it makes of the layer's parameters. May be 0; then kept is null.
///   - `forward(l, rows, w, x, y)` writes y = activation(x W + b), or of the convolution.
///   - `differentiate_sums(l, rows, y, dy, gradients)` multiplies dy by the activation's slope, a function of its value
///   y
///     (relu: 1 if y > 0, else 0; tanh: 1 - y^2; sigmoid: y (1 - y)), and writes the sums over rows, or pixels, of that
///     to the biases' place among the layer's gradients, if it has biases.
///   - `differentiate_weights(l, rows, x, dy, gradients)` writes the gradients of the weights, dy being as the call
///     before left it.
///   - `differentiate_input(l, rows, w, dy, dx)` writes the derivative by x.
template <class M, class L>
concept device_products = requires(M& m, L const& l, std::size_t rows, weights const& w, float const* parameters,
                                   float* gradients, std::byte const* in, std::byte* out) {
  m.reserve(l, rows);
  { m.weight_bytes(l) } -> std::same_as<std::size_t>;
  m.take_weights(l, parameters, out);
  m.forward(l, rows, w, in, out);
  m.differentiate_sums(l, rows, in, out, gradients);
  m.differentiate_weights(l, rows, in, in, gradients);
  m.differentiate_input(l, rows, w, in, out);
};

/// Layers without weights.
///
/// Pooling. `reserve(l, rows)` as above. `kept_bytes(l, rows)` of device memory are what backward has from forward,
/// such as which pixel was the largest; may be 0.
///   - `forward(l, rows, x, y, kept)` writes y and kept.
///   - `backward(l, rows, x, y, kept, dy, dx)` writes dx: x, y and kept are as forward read and wrote them.
///
/// Batch normalisation over P = rows x pixels of an image, C channels, in five parts, as ranks may add up the sums
/// between them. `kept` are 2 C + 1 floats that the math has for itself from the forward of a batch to its backward.
///   - `sums(l, rows, x, statistics, sums)` writes 2 C + 1 floats: the sums over pixels of x - running mean, of the
///     squares of that, and P.
///   - `forward(l, rows, x, parameters, sums, statistics, kept, y)`: with n = sums[2 C], d = sums[c] / n and variance =
///     max(sums[C + c] / n - d^2, 0), the batch's mean is running mean + d; writes y; moves the running mean by
///     momentum d, and the running variance by momentum (variance n / max(n - 1, 1) - running variance).
///   - `inference(l, rows, x, parameters, statistics, y)` writes y by the running statistics.
///   - `slopes(l, rows, x, parameters, kept, dy, sums, gradients)` multiplies dy by the activation's slope; writes the
///   2 C
///     sums over pixels of dy, and of dy (x - mean), and the gradients: gamma's, the latter times spread = 1 / sqrt(
///     variance + epsilon), then beta's, the former.
///   - `backward(l, rows, x, parameters, kept, sums, dy, dx)` writes dx = f dy - f sums[c] / n - (x - mean) f spread^2
///     sums[C + c] / n, with f = gamma spread, and n from `forward`; the sums may by now be those of all ranks.
///
/// Dropout: `drop(l, rows, key, first_row, from, to)` writes `to`, with key = random_sequence(l.key, step)(). It serves
/// forward and backward.
///
/// Channels last: `forward(l, rows, x, y)`, and `backward(l, rows, dy, dx)`, which puts them back.
///
/// Residual blocks, over `count` numbers: `add_rectified(count, a, b, y)` writes y = max(a + b, 0); a NaN stays one.
/// `split_slopes(count, y, dy, more)` makes dy 0 where not y > 0, and writes the same to `more`. `add(count, from, to)`
/// adds to numbers.
///
/// Weight normalisation, on floats: `normalise(l, parameters, made)` writes to `made` the parameters of the layer
/// inside. `differentiate_norm(l, parameters, slopes, gradients)` writes its gradients, with n = v / |v| dg = dw n and
/// dv = g / |v| (dw - dg n), where dw are `slopes`, the gradients of the layer inside; what else that learns keeps its
/// own.
template <class M>
concept device_layers = requires(
    M& m, geometry::pooling const& pooling, geometry::batch_norm const& norm, geometry::dropout const& dropout,
    geometry::channels_last const& order, geometry::weight_norm const& lengths, std::size_t rows, std::uint64_t key,
    std::size_t count, float const* floats, float* to, std::byte const* in, std::byte* out) {
  m.reserve(pooling, rows);
  { m.kept_bytes(pooling, rows) } -> std::same_as<std::size_t>;
  m.forward(pooling, rows, in, out, out);
  m.backward(pooling, rows, in, in, in, in, out);
  m.reserve(norm, rows);
  m.sums(norm, rows, in, floats, to);
  m.forward(norm, rows, in, floats, floats, to, to, out);
  m.inference(norm, rows, in, floats, floats, out);
  m.slopes(norm, rows, in, floats, floats, out, to, to);
  m.backward(norm, rows, in, floats, floats, floats, in, out);
  m.drop(dropout, rows, key, count, in, out);
  m.forward(order, rows, in, out);
  m.backward(order, rows, in, out);
  m.add_rectified(count, in, in, out);
  m.split_slopes(count, in, out, out);
  m.add(count, in, out);
  m.normalise(lengths, floats, to);
  m.differentiate_norm(lengths, floats, floats, to);
};

/// What a step takes besides its layers.
///
///   - `narrow(count, floats, numbers)` rounds floats to numbers, `widen(count, numbers, floats)` is its inverse.
///   - `softmax_cross_entropy(rows, classes, scores, labels, share, scale, derivatives, result)`: `scores` are the last
///     layer's numbers; labels bytes in device memory, each below the number of classes. Writes two floats: share times
///     the sum over rows of -log softmax(row)[label], and share times how many rows have their largest number, the
///     first of equal ones, at the label. Unless `derivatives` is null writes there, as numbers, scale times the
///     derivative of each row's loss by its numbers, softmax - [c == label].
///   - `unscale(count, factor, from, to, overflow)` writes to[i] = factor from[i], and 1 to the word `overflow` if one
///   of
///     these is not finite; otherwise the word stays as it is. `from` may be `to`.
///   - `accumulate(count, from, to)` adds floats to floats, each sum rounded once; `multiply(count, factor, numbers)`
///     multiplies floats.
///   - `follow(count, step, weights, gradients, velocity)` is a step of sgd; `velocity` is null if it has none.
template <class M>
concept device_step_math =
    requires(M& m, std::size_t rows, std::size_t count, float factor, sgd_step const& step, float const* floats,
             float* to, std::byte const* in, std::byte* out, std::uint8_t const* labels, std::uint32_t* word) {
      m.narrow(count, floats, out);
      m.widen(count, in, to);
      m.softmax_cross_entropy(rows, count, in, labels, factor, factor, out, to);
      m.unscale(count, factor, floats, to, word);
      m.accumulate(count, floats, to);
      m.multiply(count, factor, to);
      m.follow(count, step, to, floats, to);
    };

/// All that a device gives to the trainer.
///
/// Laws (test/nn/cuda/device/device_math_laws.hpp): each operation agrees with the CPU's layer, relative error 1e-4 in
/// float and 2e-2 in bfloat16; `follow`, `accumulate`, `multiply`, `drop` in float have its bits.
template <class M>
concept device_math = device_memory_and_order<M> && device_products<M, geometry::dense> &&
                      device_products<M, geometry::convolution> && device_layers<M> && device_step_math<M>;

}  // namespace tutti::nn::detail::device
