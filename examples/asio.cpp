// SPDX-License-Identifier: Apache-2.0
//
// Collectives in a Boost.Asio program: a coroutine awaits them. Between messages its thread sleeps in the io_context.
#include <tutti/asio.hpp>
#include <tutti/tutti.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdio>
#include <vector>

int main() {
  auto const results = tutti::spawn<tutti::loopback>(3, [](auto& world) {
    boost::asio::io_context io;
    tutti::on_asio loop{world, io};
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};

    std::vector<int> v(100, 1);
    std::exception_ptr failure;
    boost::asio::co_spawn(
        io,
        [&]() -> boost::asio::awaitable<void> {
          for (int i = 0; i < 3; ++i) {
            co_await sum.async(v, boost::asio::use_awaitable);  // throws tutti::error if it fails
          }
        },
        [&](std::exception_ptr error) { failure = error; });
    io.run();
    if (failure) {
      std::rethrow_exception(failure);
    }
    return v.front();
  });
  for (auto const& r : results) {
    std::printf("%d\n", r.value());
  }
}
