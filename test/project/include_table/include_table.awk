# SPDX-License-Identifier: Apache-2.0
#
# The table of docs/design/headers.md, and the check; see include_table.sh.

# The row of the table that a path stands in: its folder, of detail/ and of the rooms of a component the one below; at
# the top "root". A folder of nn and the one of its name in nn/detail/ are one row; nn/ and nn/detail/trainer/ are "nn".
function row_of(path,   part, n) {
  n = split(path, part, "/")
  if (n == 2) return "root"
  if (part[2] == "detail") return part[3]
  if (n > 4 && part[3] == "detail" && path ~ rooms) return part[4]
  if (part[2] == "nn") {
    if (n == 3) return "nn"
    n = part[3] == "detail" ? 4 : 3
    return part[n] == "trainer" ? "nn" : "nn_" part[n]
  }
  return part[2]
}
function allow(row, list) { allowed[row] = " " list " " }
function vendor(header_pattern, file_pattern) { ++vendors; library[vendors] = header_pattern; home[vendors] = file_pattern }
function violation(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; ++violations }

BEGIN {
  rooms = "^tutti/(in_network/detail/|cuda/detail/device/)"  # rows of their own

  # "<row>" allows every file of that row, "<folder>/<file>" only this one; a row may include itself.
  low = "base extend core"
  allow("base", "")
  # Where the launcher says that rank 0 is, and how that is read.
  allow("extend", "base detail/net/address detail/bootstrap/directory detail/bootstrap/hosts detail/bootstrap/node_list")
  allow("core", "base extend")
  allow("net", low)
  allow("trace", low)
  allow("topology", low " verify")
  allow("verify", low " topology")
  allow("bootstrap", low " net")
  allow("reduction", low " instances")
  # Transports never see each other; what two of them have in common has a room.
  allow("shared_memory", low " transport/shared_memory_options")
  allow("tcp", low " net transport/tcp_options")
  allow("locality", low)
  allow("transport", low " shared_memory tcp locality instances")
  allow("communicator", low)
  # Folding spans is the same for every reduction.
  allow("engine", low " communicator detail/reduction/fold collective/request")
  # What is compiled once of each transport, the engine over it, and of each likely reduction: a header of theirs ends
  # with it.
  allow("instances", low " communicator engine transport reduction collective/communicator")
  # One edge is all the topology of send and recv; split asks all ranks' colours by a schedule of its own choice.
  allow("collective", low " communicator engine trace/no_trace detail/topology/edge topology/doubling")
  # It measures what a sum of floats takes, also in memory that a transport provides.
  allow("tuning", low " communicator collective engine topology verify reduction/arithmetic")
  # What users name, and that is no folder's: nothing of the core includes it.
  below = low " net trace topology verify bootstrap reduction transport communicator engine collective tuning"
  allow("root", below)

  # The components. None includes another one, but that of the trainer on GPUs.
  # Virtual time has one transport: programs over it, and schedules that the engine runs over it.
  allow("simulation", low " communicator engine trace/no_trace collective/communicator")
  # What both ends of a message must agree on, and where a peer reads it, is as through memory; control messages go
  # through sockets, as all does over tcp.
  allow("verbs", low " tcp detail/shared_memory/call_board detail/shared_memory/shared_arena detail/shared_memory/window_table")
  allow("udp", low " net in_network/udp_options")
  # A device folds elements as ranks do.
  allow("fpga_nic", low " net udp detail/reduction/fold detail/reduction/kernel detail/reduction/number reduction/arithmetic reduction/saturating_sum in_network/fpga_nic_options")
  # A group is reached by the networks by which a device is.
  allow("multicast", low " net udp in_network/detail/fpga_nic/networks in_network/detail/fpga_nic/in_process_port in_network/udp_multicast_options")
  allow("in_network", low " udp fpga_nic multicast detail/transport/fan_out detail/transport/over_host")
  # Groups of a device's threads run the schedules that the engine runs, over the same slices and memories; one of these
  # they know without its steps. Processes find out by a socket whether another one still has their memory.
  allow("device", low " engine detail/communicator/access detail/reduction/fold detail/transport/over_host detail/shared_memory/datagram_doorbells " \
        "detail/shared_memory/shared_file topology/direct")
  allow("cuda", low " device collective/communicator")
  # The trainer, from its numbers to what trains by it.
  core = below " root"
  allow("nn_base", core)
  allow("nn_numbers", core " nn_base")
  allow("nn_product", core " nn_base")
  allow("nn_convolution", core " nn_base nn_product")
  allow("nn_loss", core " nn_base nn_numbers")
  allow("nn_schedule", core " nn_base")
  allow("nn_data", core " nn_base nn_numbers nn_schedule")
  allow("nn_extend", core " nn_base nn_loss nn_data")
  allow("nn_layer", core " nn_base nn_numbers nn_product nn_convolution nn_extend")
  allow("nn_zoo", core " nn_base nn_extend nn_layer")
  allow("nn_optimizer", core " nn_base nn_numbers nn_extend")
  allow("nn_compression", core " nn_base nn_numbers nn_optimizer")
  allow("nn_strategy", core " nn_base nn_numbers nn_extend nn_compression")
  allow("nn_report", core " nn_base nn_loss")
  allow("nn_parallel", core " nn_base nn_product nn_loss nn_extend nn_layer")
  host = core " nn_base nn_numbers nn_loss nn_schedule nn_data nn_extend nn_layer nn_optimizer nn_report"
  allow("nn", host)
  allow("nn_checkpoint", host " nn")
  allow("nn_parameter_server", host " nn")
  allow("nn_simulation", host " nn_parameter_server")
  allow("nn_cuda", host " nn nn_strategy cuda device")

  vendor("^boost/", "^tutti/asio\\.hpp$")
  vendor("^(xtensor|xtensor-blas|xtl)/|^(cblas|zlib)\\.h$", "^tutti/nn/")
  vendor("^dnnl\\.(h|hpp)$", "^tutti/nn/detail/(convolution|product)/onednn\\.hpp$")
  vendor("^nlohmann/", "^tutti/(nn/report|trace)/json[./_]")
  vendor("^openssl/", "^tutti/detail/tls/")
  vendor("^infiniband/", "^tutti/verbs/detail/")
  vendor("^mpi\\.h$", "^tutti/mpi\\.hpp$")
  vendor("^cublas", "^tutti/nn/cuda/detail/runtime/cublas\\.hpp$")
  vendor("^cudnn", "^tutti/nn/cuda/detail/runtime/cudnn\\.hpp$")
  vendor("^(cuda|nccl)", "^tutti/cuda/([a-z_]+\\.hpp$|detail/runtime/)")

  # What the operating system and the compiler give.
  platform = "^(sys|netinet|arpa|net|linux|sanitizer)/[a-z_]+\\.h$|^(cpuid|cxxabi|dirent|endian|fcntl|ifaddrs|netdb|poll|pthread|sched|semaphore|signal|spawn|stdio_ext|time|ucontext|unistd|immintrin)\\.h$"
  # What all units of a program have in common, so that a definition which depends on it is still one definition.
  # The code for a device is apart from the host's; where nvcc reads for a host, g++ gets another spelling of the same.
  common = "^(defined|__CUDA_ARCH__|__CUDACC__|__x86_64__|__i386__|__aarch64__|__GNUC__|__clang__|__SANITIZE_ADDRESS__|__has_feature|address_sanitizer|__ELF__|__SIZEOF_INT128__|TUTTI_SEPARATE_COMPILATION)$"

  # Writes a comma, or expects one, in a program whose language does. to_string of an integer does not.
  follows_language = "(^|[^A-Za-z_])(v?[sfd]?n?w?printf|v?[sf]?w?scanf|strto(d|f|ld|l|ul|ll|ull|imax|umax)|ato(i|l|ll|f)|sto(i|l|ul|ll|ull|f|d|ld)|setlocale|localeconv|put_time|strftime)\\(" \
                     "|std::w?[io]?stringstream|std::format|<(sstream|iomanip)>" \
                     "|to_string\\(([^()]*(double|float)[^A-Za-z_]|[^()]*[0-9]\\.[0-9])"

  language = "tutti/detail/base/language.hpp"  # what every compilation of tutti sees first
  refused = "^(__cplusplus|__FAST_MATH__|__FINITE_MATH_ONLY__|__ASSOCIATIVE_MATH__|__NO_SIGNED_ZEROS__)$"  # by that header
  # Instructions that fuse, where a product must not be fused: the definitions differ, and their results do not.
  fuses = "^(__FP_FAST_FMAF|__FMA__|__FMA4__|__AVX512F__)$"
  unfused = "tutti/detail/core/product.hpp"
  # Modes of a standard library, on which units that disagree do not link.
  modes = "^(__GLIBCXX__|_GLIBCXX_DEBUG|_GLIBCXX_USE_CXX11_ABI)$"
  linked = "tutti/detail/base/linkage.hpp"
  # A call that makes a descriptor, and the beginning of a detail::descriptor that is made of it: that occupies the
  # numbers of the standard streams meanwhile.
  maker = "::((socket|socketpair|open|open64|openat|creat|memfd_create|eventfd|epoll_create1?|pipe2?|accept4?|timerfd_create|signalfd|inotify_init1?|dup[23]?|mkstemp|mkostemp|shm_open|posix_openpt)\\(|(fcntl|recvmsg)\\([^;]*(F_DUPFD|MSG_CMSG_CLOEXEC)|syscall\\([A-Za-z_]*(pidfd|memfd|perf_event_open|userfaultfd|io_uring_setup))"
  owner = "(descriptor( const)?( [a-z_]+)?|[a-z]+_)[({] ?\\[[^]]*\\] ?[{][^{}]*"
  # A call that makes one within another library: an object of standard_numbers in its block, or around that, is needed.
  foreign_maker = "(^|[^A-Za-z0-9_])((getaddrinfo|getifaddrs|getnameinfo|if_nametoindex|if_indextoname|fopen|freopen|tmpfile|popen|opendir|gzopen|hardware_concurrency|ibv_open_device|ibv_create_comp_channel|ibv_get_device_list)\\(|sysconf\\(_SC_NPROCESSORS|std::(w?ifstream|basic_ifstream|random_device)|directory_iterator [a-z]+\\()"

  # Dear to parse: kept out of what the umbrella reaches.
  dear = "^(algorithm|chrono|format|functional|future|iostream|locale|regex|filesystem|random|ranges)$"
}

FNR == 1 { files_read[FILENAME] }
/^[ \t]*#[ \t]*define/ { own[FILENAME " " $2] }
/^[ \t]*#[ \t]*(if|elif)/ {
  line = $0
  sub(/^[ \t]*#[ \t]*[a-z]+/, "", line); sub(/\/\/.*/, "", line)
  gsub(/__has_include\(<[^>]*>\)/, "", line)  # what is installed is the same for all units
  n = split(line, words, /[^A-Za-z0-9_]+/)
  for (i = 1; i <= n; ++i)
    if (words[i] ~ /^[A-Za-z_]/ && words[i] !~ common && !(words[i] ~ refused && FILENAME == language) && !(words[i] ~ fuses && FILENAME == unfused) && !(words[i] ~ modes && FILENAME == linked) && !((FILENAME " " words[i]) in own))
      violation("units of one program may differ in " words[i] ", and so would definitions")
}
/(^|[^A-Za-z_])assert\(/ { violation("assert differs between units of one program; use expects") }
FNR == 1 { depth = 0; occupied = -1; statement = "" }
FILENAME !~ /^tutti\/detail\/core\/(descriptor|standard_numbers)\.ipp$/ {
  line = $0
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line); gsub(/'.'/, "' '", line)
  sub(/[ \t]*\/\/.*/, "", line); sub(/^[ \t]+/, "", line)
  if (line ~ /(^|[^A-Za-z0-9_])standard_numbers const [a-z_]+;/) { if (occupied < 0) occupied = depth }
  else if (occupied < 0 && line ~ foreign_maker) violation("what another library opens could get the number of a closed standard stream; hold an object of detail::standard_numbers")
  statement = statement " " line
  if (statement ~ maker) {
    gsub(owner maker, "", statement)
    if (statement ~ "(^|[^A-Za-z0-9_>])" maker) violation("a descriptor is made by the function that a detail::descriptor is made of, which keeps it off the standard streams")
    statement = ""
  }
  if (line ~ /[;}]$/) statement = ""
  depth += gsub(/\{/, "{", line) - gsub(/\}/, "}", line)
  if (depth < occupied) occupied = -1
}
{
  code = $0
  sub(/\/\/.*/, "", code)
  if (code ~ follows_language)
    violation("the program's locale changes what this writes or reads; use detail/base/number_text.hpp")
}
/std::(basic_)?o?fstream/ { violation("beyond ulimit -f it ends the process; use write_file of detail/core/descriptor.hpp") }
/std::(jthread|stop_)/ { violation("libc++ has std::jthread only behind a flag; use detail/core/joined_threads.hpp") }

/^[ \t]*#[ \t]*include/ {
  line = $0
  sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
  if (FILENAME == language && line ~ /^<compile with/) next  # no file: it ends a compilation that cannot succeed
  if (line !~ /^</) { violation("includes are written <tutti/...>, not in quotes: " line); next }
  sub(/^</, "", line); sub(/>.*/, "", line)
  from = row_of(FILENAME)
  if (!(from in allowed)) { if (!(from in unknown)) violation("the table has no row \"" from "\""); unknown[from]; next }

  if (line ~ /^tutti\//) {
    stands_on[FILENAME]
    to = row_of(line)
    exact = line; sub(/^tutti\//, "", exact); sub(/\.[a-z]+$/, "", exact)
    if (to != from && !index(allowed[from], " " to " ") && !index(allowed[from], " " exact " "))
      violation(from " may not include " line)
    edges[FILENAME] = edges[FILENAME] " " line
    next
  }
  if (line ~ /^[a-z_0-9]+$/) { if (line ~ dear) dears[FILENAME] = dears[FILENAME] " <" line ">"; next }
  if (line ~ platform) next
  for (v = 1; v <= vendors; ++v) {
    if (line !~ library[v]) continue
    if (FILENAME !~ home[v]) violation("<" line "> may not appear in this file")
    vendored[FILENAME] = vendored[FILENAME] " <" line ">"
    next
  }
  violation("<" line "> is neither standard, nor the platform, nor a library with a place of its own")
}

END {
  for (f in files_read) {
    if (f in stands_on || f == language || f == "tutti/version.hpp" || f ~ /\.ipp$/) continue
    printf "%s: it includes nothing of tutti, so it must include <%s>\n", f, language
    ++violations
  }
  # Everything that the umbrella reaches, and what it must not reach.
  queue = "tutti/tutti.hpp"
  seen[queue]
  while (queue != "") {
    n = split(queue, files, " ")
    queue = ""
    for (i = 1; i <= n; ++i) {
      f = files[i]
      if (f in vendored) { printf "%s: the umbrella reaches it, but it needs%s\n", f, vendored[f]; ++violations }
      if (f in dears) { printf "%s: the umbrella reaches it, but it includes%s\n", f, dears[f]; ++violations }
      m = split(edges[f], next_files, " ")
      for (j = 1; j <= m; ++j)
        if (!(next_files[j] in seen)) { seen[next_files[j]]; queue = queue " " next_files[j] }
    }
  }
  if (violations) { printf "%d violation(s) of the include table\n", violations; exit 1 }
}
