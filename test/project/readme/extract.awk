# SPDX-License-Identifier: Apache-2.0
#
# Writes every ```cpp block of a Markdown file as a translation unit: awk -v out=<folder> -v page=readme -f extract.awk README.md
#
# A block that defines functions or types at its margin is compiled as it is. Any other block is the inside of a
# function: its #include lines go to the top, the rest into a function, an awaitable one if it contains co_await.
# Declarations that the block needs are given before it, hidden from the reader, in a comment that begins a line:
#
#   <!-- given:
#   std::vector<float> gradients(1000);
#   -->
#
# Its includes go to the top, the rest before the block. "<!-- given as above -->" repeats the last one.
# A ```text block is the expected output of the program before it: <page>_block_<number>.expected.

function flush_block(   file, i) {
  file = sprintf("%s/%s_block_%d.cpp", out, page, ++blocks)
  printf "// %s, line %d\n", FILENAME, start > file
  if (awaits) print "#include <boost/asio/awaitable.hpp>" > file
  printf "%s%s", given_includes, includes > file
  if (stands) {
    printf "%s%s", given_rest, rest > file
  } else {
    printf "%s block_%d() {\n%s%s}\n", awaits ? "boost::asio::awaitable<void>" : "void", blocks, given_rest, rest > file
  }
  close(file)
  print file
}

/^<!-- given as above -->/ { given_includes = last_includes; given_rest = last_rest; next }
/^<!-- given:/ { in_given = 1; given_includes = given_rest = ""; next }
in_given && /^-->/ { in_given = 0; last_includes = given_includes; last_rest = given_rest; next }
in_given { if (/^#include/) given_includes = given_includes $0 "\n"; else given_rest = given_rest $0 "\n"; next }

/^```text/ && !in_block && blocks { expected = sprintf("%s/%s_block_%d.expected", out, page, blocks); next }
/^```/ && expected != "" { close(expected); expected = ""; next }
expected != "" { print > expected; next }

/^ *```cpp/ && !in_block { in_block = 1; start = NR + 1; includes = rest = ""; stands = awaits = 0; next }
/^ *```/ && in_block { in_block = 0; flush_block(); given_includes = given_rest = ""; next }
in_block {
  if (/^ *#include/) { includes = includes $0 "\n"; next }
  rest = rest $0 "\n"
  if (/^(int main|BOOST_AUTO_TEST_CASE|struct |class |template|namespace |concept |(constexpr|inline) [a-z].*\) .*\{)/) stands = 1
  if (/co_await/) awaits = 1
}

END { if (in_block) { print "a ```cpp block is not closed" > "/dev/stderr"; exit 1 } }
