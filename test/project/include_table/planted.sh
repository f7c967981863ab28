#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The include table's own test: plants one violation after another and expects each to be found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 2
trap 'rm -rf "$folder"' EXIT
failures=0
table=$here/folders.txt

# plant <file> <include line> <text that the check must print>; without a text the check must pass
plant() {
  rm -rf "$folder/tutti"
  mkdir -p "$folder/tutti/detail/base" "$folder/tutti/extend" "$(dirname "$folder/$1")"
  echo '#pragma once' > "$folder/tutti/detail/base/language.hpp"
  echo '#include <tutti/detail/base/language.hpp>' > "$folder/tutti/extend/types.hpp"
  echo '#include <tutti/extend/types.hpp>' > "$folder/tutti/tutti.hpp"
  case $1 in tutti/alone.hpp | tutti/detail/base/*) ;; *) echo '#include <tutti/extend/types.hpp>' >> "$folder/$1" ;; esac
  printf '%s\n' "$2" >> "$folder/$1"
  if said=$(sh "$here/include_table.sh" "$folder" "$table"); then
    [ -z "$3" ] && return
    echo "not found: $2 in $1"
  else
    case $said in *"${3:-nothing at all}"*) return ;; esac
    echo "expected \"${3:-no complaint}\" for $2 in $1, but heard: $said"
  fi
  failures=$((failures + 1))
}

plant tutti/topology/a.hpp '#include <tutti/transport/tcp.hpp>' 'topology may not include'
plant tutti/transport/a.hpp '#include <tutti/topology/ring.hpp>' 'transport may not include'
plant tutti/transport/a.hpp '#include <tutti/detail/bootstrap/threads.hpp>' 'transport may not include'
plant tutti/reduction/a.hpp '  #  include <tutti/wire/raw.hpp>' 'reduction may not include'
plant tutti/collective/a.hpp '#include <tutti/topology/ring.hpp>' 'collective may not include'
plant tutti/detail/core/a.hpp '#include <tutti/collective/communicator.hpp>' 'core may not include'
plant tutti/detail/engine/a.hpp '#include <tutti/collective/request.hpp>' 'engine may not include'
plant tutti/detail/communicator/a.hpp '#include <tutti/detail/engine/segment_runner.hpp>' 'communicator may not include'
plant tutti/extend/trace.hpp '#include <tutti/trace/a.hpp>' 'extend may not include'
plant tutti/detail/tcp/a.hpp 'namespace tutti::inline v0_1_0::detail {' 'has not the name of its folder, tcp'
plant tutti/verbs/detail/a.hpp 'namespace tutti::inline v0_1_0::detail::rdma {' 'has not the name of its folder, verbs'
plant tutti/detail/base/a.hpp '#include <tutti/extend/types.hpp>' 'base may not include'
plant tutti/collective/a.hpp '#include <tutti/join.hpp>' 'collective may not include'
plant tutti/join.hpp '#include <tutti/simulation/simulated_transport.hpp>' 'root may not include'
plant tutti/simulation/a.hpp '#include <tutti/verbs/verbs.hpp>' 'simulation may not include'
plant tutti/transport/a.hpp '#include <tutti/detail/instances/tcp.hpp>
int x;' 'behind the last line of code'
plant tutti/simulation/detail/a.hpp '#include <tutti/simulation/simulated_transport.hpp>' 'simulation/detail may not include'
plant tutti/in_network/detail/udp/a.hpp '#include <tutti/in_network/detail/fpga_nic/member.hpp>' 'udp may not include'
plant tutti/nn/a.hpp '#include <tutti/cuda/stream.hpp>' 'nn may not include'
plant tutti/nn/cuda/a.hpp '#include <tutti/verbs/verbs.hpp>' 'nn/cuda may not include'
plant tutti/nn/base/a.hpp '#include <tutti/nn/model.hpp>' 'nn/base may not include'
plant tutti/nn/detail/layer/a.hpp '#include <tutti/nn/zoo/mlp.hpp>' 'nn/detail/layer may not include'
plant tutti/nn/detail/trainer/a.hpp '#include <tutti/nn/checkpoint/base/state.hpp>' 'nn/detail/trainer may not include'
plant tutti/nn/detail/report/a.hpp '#include <tutti/nn/report/svg.hpp>' 'nn/detail/report may not include'
plant tutti/cuda/detail/device/a.hpp '#include <cuda.h>' 'may not appear'
plant tutti/detail/core/a.hpp '#include "types.hpp"' 'not in quotes'
plant tutti/detail/core/a.hpp '#include <boost/asio.hpp>' 'may not appear'
plant tutti/transport/tcp.hpp '#include <boost/asio.hpp>' 'may not appear'
plant tutti/detail/tcp/a.hpp '#include <tutti/detail/shared_memory/mailbox.hpp>' 'tcp may not include'
plant tutti/detail/tcp/a.ipp '#include <tutti/detail/bootstrap/threads.hpp>' 'tcp may not include'
plant tutti/collective/a.hpp '#include <mpi.h>' 'may not appear'
plant tutti/detail/core/a.hpp '#include <cblas.h>' 'may not appear'
plant tutti/detail/core/a.hpp '#include <nlohmann/json.hpp>' 'may not appear'
plant tutti/nn/a.hpp '#include <CLI/CLI.hpp>' 'neither standard'
plant tutti/other/a.hpp '#include <vector>' 'no row "other"'
plant tutti/tutti.hpp '#include <functional>' 'the umbrella reaches it'
plant tutti/extend/types.hpp '#include <iostream>' 'the umbrella reaches it'
plant tutti/tutti.hpp '#include <boost/asio.hpp>' 'may not appear'

plant tutti/alone.hpp '#include <vector>' 'it includes nothing of tutti'
plant tutti/topology/a.hpp '#include <compile with -std=c++20>' 'neither standard'
plant tutti/topology/a.hpp '#if __cplusplus > 202002L' 'units of one program may differ in __cplusplus'

plant tutti/detail/core/a.hpp '#if !defined(NDEBUG)' 'units of one program may differ in NDEBUG'
plant tutti/detail/core/a.hpp '#ifdef TUTTI_CHECKS' 'units of one program may differ in TUTTI_CHECKS'
plant tutti/detail/core/a.hpp '  assert(true);' 'assert differs'
plant tutti/detail/core/a.hpp 'std::jthread t;' 'libc++'
plant tutti/automatic.hpp 'std::ofstream file(path);' 'beyond ulimit -f'
for call in 'int const fd = ::open(path, 0);' 'if (::pipe2(ends, 0) != 0) {' 'return ::accept4(fd, nullptr, nullptr, 0);' \
  'int fd = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));' 'use(::dup(fd));' 'descriptor const f(::open(path, 0));' \
  'int const fd = ::fcntl(old, F_DUPFD_CLOEXEC, 3);' 'auto n = ::recvmsg(fd, &m, MSG_CMSG_CLOEXEC);' \
  'auto const open_it = [] { return ::open(path, 0); };' 'standard_numbers const o; int fd = ::socket(1, 2, 3);'; do
  plant tutti/detail/core/a.hpp "$call" 'a descriptor is made by'
done

for call in 'std::ifstream file(path);' 'int code = ::getaddrinfo(a, b, c, d);' 'std::FILE* f = std::fopen(path, "re");' \
  "$(printf 'void f() {\n  {\n    standard_numbers const occupied;\n  }\n  ::getifaddrs(&all);\n}')"; do
  plant tutti/detail/core/a.hpp "$call" 'what another library opens'
done

for call in 'std::snprintf(text, 9, "%g", x);' 'printf("%d", 1);' 'return std::stoul(text);' 'x = strtod(text, &end);' \
            'std::ostringstream out;' '#include <sstream>' 'out = std::format("{:L}", x);' \
            'std::to_string(static_cast<double>(x) * 1e-9)' 'std::to_string(n * 0.5)' '::setlocale(LC_ALL, "");'; do
  plant tutti/nn/a.hpp "$call" 'locale changes'
done
plant tutti/nn/a.hpp 'std::to_string(static_cast<int>(x));  // printf("%g")' ''

plant tutti/detail/core/a.hpp 'static_assert(true);' ''
plant tutti/detail/base/language.hpp '#include <compile with -std=c++20>' ''
for call in 'descriptor const f([&] { return ::open(path, 0); });' 'file_ = descriptor([] { return ::memfd_create(name, 0); });' \
  ': bell_([] { return ::eventfd(0, 0); }), clock_([] { return ::timerfd_create(0, 0); }) {' \
  'files_[r] = descriptor([&] { return static_cast<int>(::syscall(pidfd_open, process, 0)); });' 'network_.open();' \
  "$(printf 'descriptor f([&] {\n  got = ::recvmsg(fd, &m, MSG_CMSG_CLOEXEC);\n  return file();\n});')" \
  "$(printf 'void f() {\n  standard_numbers const occupied;\n  if (a) {\n    ::getifaddrs(&all);\n  }\n}')" '// as ::open(path) would'; do
  plant tutti/detail/core/a.hpp "$call" ''
done
plant tutti/detail/core/a.hpp '#if defined(__x86_64__) && !defined(__clang__)  // NDEBUG' ''
plant tutti/nn/a.hpp '#if __has_include(<xtensor/containers/xtensor.hpp>)  // newer' ''
plant tutti/collective/a.hpp '#include <tutti/extend/topology.hpp>' ''
plant tutti/detail/tcp/a.hpp '#include <tutti/detail/tcp/a.ipp>' ''
plant tutti/detail/tcp/a.hpp 'namespace tutti::inline v0_1_0::detail::inline tcp {' ''
plant tutti/verbs/detail/a.hpp 'namespace tutti::inline v0_1_0::detail::verbs {' ''
plant tutti/cuda/detail/runtime/a.hpp '#include <cuda.h>' ''
plant tutti/detail/tcp/a.hpp '#ifndef TUTTI_SEPARATE_COMPILATION' ''
plant tutti/asio.hpp '#include <boost/asio/io_context.hpp>' ''
plant tutti/asio.hpp '#include <tutti/detail/communicator/wait.hpp>' ''
plant tutti/transport/a.hpp '#include <sys/mman.h>' ''
plant tutti/nn/a.hpp '#include <tutti/transport/tcp.hpp>' ''
plant tutti/nn/detail/layer/a.hpp '#include <tutti/nn/extend/layer.hpp>' ''
plant tutti/nn/cuda/a.hpp '#include <tutti/cuda/stream.hpp>' ''

# Tables with a cycle: of two folders, of one header, of a folder without a row, and of rows that repeat each other.
table=$folder/folders.txt
for change in 's,^detail/net: words,& detail/bootstrap,' 's,^topology: words,& reduction/arithmetic,' \
  's,^detail/core: ,&detail/other ,'; do
  sed "$change" "$here/folders.txt" > "$table"
  plant tutti/detail/core/a.hpp 'static_assert(true);' 'does not stand above this line'
done
sed 's,^trace: words,& ; \n&,' "$here/folders.txt" > "$table"
plant tutti/detail/core/a.hpp 'static_assert(true);' 'trace has two rows'
# Two folders in one row.
sed 's,^trace: words,trace detail/trace: words,' "$here/folders.txt" > "$table"
plant tutti/detail/trace/a.hpp '#include <tutti/trace/a.hpp>' ''
plant tutti/detail/trace/a.hpp '#include <tutti/topology/ring.hpp>' 'trace may not include'

[ "$failures" -eq 0 ] || { echo "$failures planted violation(s) judged wrongly"; exit 1; }
