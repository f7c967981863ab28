# SPDX-License-Identifier: Apache-2.0
#
# Checks the table in folders.txt; see include_table.sh.

# The table row of a path: the row of its folder, or of the nearest folder above that is listed with everything in it.
function row_of(path,   folder) {
  folder = path
  sub(/^tutti\//, "", folder)
  if (!sub(/\/[^\/]*$/, "", folder)) return "root"
  if (folder in named) return named[folder]
  for (path = folder; path != ""; path = path ~ /\// ? substr(path, 1, match(path, /\/[^\/]*$/) - 1) : "")
    if ((path "/**") in named) return named[path "/**"]
  return folder
}
function complain_of_table(text) { printf "%s:%d: %s\n", table, line_of_table, text; ++violations }

# Reads the table. A folder includes only rows above it, so there is no cycle.
function read_table(   line, more, names, name, list, part, words, n, i, entry, folder) {
  while ((getline line < table) > 0) {
    ++line_of_table
    if (line ~ /^ *(#|$)/) continue
    while (sub(/\\$/, "", line) && (getline more < table) > 0) { ++line_of_table; line = line more }
    name = line
    sub(/ *[=:].*/, "", name)
    split(name, names, " ")  # the first names the row
    name = names[1]
    list = line
    sub(/^[^=:]*[=:]/, "", list)
    split(list, part, ";")
    n = split(part[1], words, " ")
    list = ""
    for (i = 1; i <= n; ++i) {
      entry = words[i]
      if (entry in short) { list = list " " short[entry]; continue }
      folder = entry
      if (!(folder in allowed)) sub(/\/[^\/]*$/, "", folder)
      if (!(folder in named)) complain_of_table(name " may not include " entry ", which does not stand above this line")
      list = list " " entry
    }
    if (line ~ /^[a-z_]+ =/) { short[name] = list; continue }
    for (i = 1; i in names; ++i) {
      if (names[i] in named) complain_of_table(names[i] " has two rows")
      named[names[i]] = name
    }
    allowed[name] = " " list " "
    at_end[name] = " " part[2] " "
  }
  if (!line_of_table) complain_of_table("there is no table")
}
function vendor(header_pattern, file_pattern) { ++vendors; library[vendors] = header_pattern; home[vendors] = file_pattern }
function violation(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; ++violations }

BEGIN {
  read_table()

  vendor("^boost/", "^tutti/asio\\.hpp$")
  vendor("^(xtensor|xtensor-blas|xtl)/|^(cblas|zlib)\\.h$", "^tutti/nn/")
  vendor("^dnnl\\.(h|hpp)$", "^tutti/nn/detail/(convolution|products)/onednn\\.hpp$")
  vendor("^png\\.h$", "^tutti/nn/images/detail/png\\.ipp$")
  vendor("^jpeglib\\.h$", "^tutti/nn/images/detail/jpeg\\.ipp$")
  vendor("^nlohmann/", "^tutti/((nn/report|nn/saved_model/base|trace)/json[./_]|nn/(detail/)?saved_model/.*[.]ipp$)")
  vendor("^openssl/", "^tutti/secure/detail/")
  vendor("^infiniband/", "^tutti/verbs/detail/")
  vendor("^mpi\\.h$", "^tutti/mpi\\.hpp$")
  vendor("^cublas", "^tutti/nn/cuda/detail/runtime/cublas\\.hpp$")
  vendor("^cudnn", "^tutti/nn/cuda/detail/runtime/cudnn\\.hpp$")
  vendor("^(cuda|nccl)", "^tutti/cuda/([a-z_]+\\.hpp$|extend/|detail/runtime/)")

  # Headers of the operating system and the compiler.
  platform = "^(sys|netinet|arpa|net|linux|sanitizer)/[a-z_]+\\.h$|^(cpuid|cxxabi|dirent|endian|fcntl|ifaddrs|netdb|poll|pthread|sched|semaphore|signal|spawn|stdio_ext|time|ucontext|unistd|immintrin)\\.h$"
  # Macros that are equal in all units of a program, so that a definition that depends on them remains one definition.
  # Device code is separate from the host's; where nvcc reads code for a host, g++ gets an equivalent spelling.
  common = "^(defined|__CUDA_ARCH__|__CUDACC__|__x86_64__|__i386__|__aarch64__|__GNUC__|__clang__|__SANITIZE_ADDRESS__|__has_feature|address_sanitizer|__ELF__|__SIZEOF_INT128__|TUTTI_SEPARATE_COMPILATION)$"

  # Functions that write or expect a comma in a program whose language does. to_string of an integer does not.
  follows_language = "(^|[^A-Za-z_])(v?[sfd]?n?w?printf|v?[sf]?w?scanf|strto(d|f|ld|l|ul|ll|ull|imax|umax)|ato(i|l|ll|f)|sto(i|l|ul|ll|ull|f|d|ld)|setlocale|localeconv|put_time|strftime)\\(" \
                     "|std::w?[io]?stringstream|std::format|<(sstream|iomanip)>" \
                     "|to_string\\(([^()]*(double|float)[^A-Za-z_]|[^()]*[0-9]\\.[0-9])"

  language = "tutti/detail/base/language.hpp"  # the first header in every compilation of tutti
  refused = "^(__cplusplus|__FAST_MATH__|__FINITE_MATH_ONLY__|__ASSOCIATIVE_MATH__|__NO_SIGNED_ZEROS__)$"  # by that header
  # Macros for fused instructions, used where a product must not be fused: the definitions differ, but not their
  # results.
  fuses = "^(__FP_FAST_FMAF|__FMA__|__FMA4__|__AVX512F__)$"
  unfused = "tutti/detail/core/product.hpp"
  # Modes of a standard library. Units that disagree on them do not link.
  modes = "^(__GLIBCXX__|_GLIBCXX_DEBUG|_GLIBCXX_USE_CXX11_ABI)$"
  linked = "tutti/detail/base/linkage.hpp"
  # A call that makes a descriptor, and the beginning of a detail::descriptor that is made from it, which keeps the
  # numbers of the standard streams occupied during the call.
  maker = "::((socket|socketpair|open|open64|openat|creat|memfd_create|eventfd|epoll_create1?|pipe2?|accept4?|timerfd_create|signalfd|inotify_init1?|dup[23]?|mkstemp|mkostemp|shm_open|posix_openpt)\\(|(fcntl|recvmsg)\\([^;]*(F_DUPFD|MSG_CMSG_CLOEXEC)|syscall\\([A-Za-z_]*(pidfd|memfd|perf_event_open|userfaultfd|io_uring_setup))"
  owner = "(descriptor( const)?( [a-z_]+)?|[a-z]+_)[({] ?\\[[^]]*\\] ?[{][^{}]*"
  # A call that makes a descriptor within another library: it needs an object of standard_numbers in its block, or in a
  # block around it.
  foreign_maker = "(^|[^A-Za-z0-9_])((getaddrinfo|getifaddrs|getnameinfo|if_nametoindex|if_indextoname|fopen|freopen|tmpfile|popen|opendir|gzopen|hardware_concurrency|ibv_open_device|ibv_create_comp_channel|ibv_get_device_list)\\(|sysconf\\(_SC_NPROCESSORS|std::(w?ifstream|basic_ifstream|random_device)|directory_iterator [a-z]+\\()"

  # Headers that are slow to parse: kept out of everything that the umbrella reaches.
  dear = "^(algorithm|chrono|format|functional|future|iostream|locale|regex|filesystem|random|ranges)$"
}

FNR == 1 { files_read[FILENAME] }
/^namespace tutti::inline / { opened[FILENAME] = opened[FILENAME] $0 " " }
/^[ \t]*#[ \t]*define/ { own[FILENAME " " $2] }
/^[ \t]*#[ \t]*(if|elif)/ {
  line = $0
  sub(/^[ \t]*#[ \t]*[a-z]+/, "", line); sub(/\/\/.*/, "", line)
  gsub(/__has_include\(<[^>]*>\)/, "", line)  # installed headers are the same for all units
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
/^[^#\/ \t]/ { last_code[FILENAME] = FNR }
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
    is_behind_code = index(at_end[from], " " to " ")
    if (to != from && !is_behind_code && !index(allowed[from], " " to " ") && !index(allowed[from], " " exact " "))
      violation(from " may not include " line)
    if (is_behind_code) { behind[FILENAME] = line; line_behind[FILENAME] = FNR }
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
  for (f in behind)
    if (line_behind[f] < last_code[f]) { printf "%s: <%s> must be behind the last line of code\n", f, behind[f]; ++violations }
  for (f in files_read) {
    if (f in stands_on || f == language || f == "tutti/version.hpp" || f ~ /\.ipp$/) continue
    printf "%s: it includes nothing of tutti, so it must include <%s>\n", f, language
    ++violations
  }
  # A room is a namespace. Instantiations are in the namespace of their templates.
  for (f in opened) {
    room = f
    sub(/\/[^\/]*$/, "", room)
    if (room !~ /\/detail(\/|$)/ || room ~ /\/instances$/) continue
    sub(/\/detail$/, "", room)
    sub(/.*\//, "", room)
    if (opened[f] !~ ("(::|inline )" room "( |::)")) { printf "%s: its namespace has not the name of its folder, %s\n", f, room; ++violations }
  }
  # Visits all headers that the umbrella reaches; refuses headers of other libraries and headers slow to parse.
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
