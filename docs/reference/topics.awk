# SPDX-License-Identifier: Apache-2.0
#
# Gives each header its topic, and hides deduction guides, which repeat their class:
# awk -v to=<folder> -f topics.awk kind=topics topics.txt kind=header <headers>
#
# The headers keep their lines, so that warnings have the right numbers.

# True if a declaration may begin behind this line.
function ends(line) { return line ~ /(^|[;{}:]) *(\/\/.*)?$/ && line !~ /^ *(requires|template)[ <]/ }

# Fields of topics.txt: the beginning of a path; its topic; its readers, for api.py.
kind == "topics" { if (!/^(#|$)/) { prefix[++topics] = $1; topic_of[topics] = $2 } next }

FNR == 1 {
  if (count) write_out()
  path = FILENAME; sub(/^.*include\/tutti\//, "", path)
  count = 0
}
# Inline namespaces, of the version and of components, are not shown.
{ if (sub(/^namespace tutti::inline v[0-9_]+/, "namespace tutti")) sub(/::inline [a-z_]+/, ""); text_of[++count] = $0 }
END { if (!failed && count) write_out() }

function write_out(   i, at, last, topic, out) {
  for (i = 1; i <= topics; ++i) if (index(path, prefix[i]) == 1) topic = topic_of[i]
  for (i = 1; i <= count && topic == ""; ++i)
    if (text_of[i] ~ /^namespace tutti/) {
      print path " has no topic: give it one in docs/reference/topics.txt"
      failed = 1
      exit 1
    }
  # A line that begins with a name and a parenthesis at the level of a namespace is a deduction guide.
  for (i = count; i > 0; --i)
    if (text_of[i] ~ /^[a-z_]+\(/) {
      for (at = i; at > 1 && !ends(text_of[at - 1]) && text_of[at - 1] !~ /^ *\/\//;) --at
      for (last = i; text_of[last] !~ /;$/ && last < count;) ++last
      text_of[at] = "/** @cond */ " text_of[at]
      text_of[last] = text_of[last] " /** @endcond */"
    }
  out = to "/" path
  for (i = 1; i <= count; ++i) {
    if (text_of[i] ~ /^namespace tutti(::nn(::[a-z_]+)?)? \{/)
      text_of[i] = text_of[i] " /** @addtogroup " topic " */ /** @{ */"
    if (text_of[i] ~ /^} *\/\/ namespace tutti(::nn(::[a-z_]+)?)?$/) text_of[i] = "/** @} */ " text_of[i]
    print text_of[i] > out
  }
  close(out)
}
