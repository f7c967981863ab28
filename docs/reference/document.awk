# SPDX-License-Identifier: Apache-2.0
#
# Gives members that have no comment the sentence of members.txt, and each file its topic:
# awk -v to=<folder> -f document.awk kind=topics topics.txt kind=members members.txt \
#     kind=warnings <warnings of Doxygen> kind=header <headers>
#
# What is written keeps the lines of what was read, so that warnings have the right numbers.

# Whether a declaration may begin behind this line.
function ends(line) { return line ~ /(^|[;{}:]) *(\/\/.*)?$/ && line !~ /^ *(requires|template)[ <]/ }

BEGIN { hidden = "@cond" }  # a deduction guide says nothing that its class does not

# topics.txt: a path begins so; the topic; and who names what is there, which api.py reads.
kind == "topics" { if (!/^(#|$)/) { prefix[++topics] = $1; topic_of[topics] = $2 } next }

# members.txt: "in <folders>", then members of any class there, and their sentences.
kind == "members" && /^in / { folders = $0; sub(/^in /, "", folders); next }
kind == "members" {
  if (/^(#|$)/) next
  name = $0; sub(/: .*/, "", name)
  text = $0; sub(/^[^:]*(::[^:]+)*: /, "", text)
  n = split(folders, folder, " ")
  for (i = 1; i <= n; ++i) sentence[folder[i], name] = text
  next
}

# <file>:<line>: warning: Member <name>(...) (function) of class <scope> is not documented.
kind == "warnings" {
  if (!match($0, /: warning: Member .* of (class|struct|namespace) .* is not documented/)) next
  place = substr($0, 1, RSTART - 1)
  line = place; sub(/^.*:/, "", line)
  path = place; sub(/:[0-9]+$/, "", path); sub(/^.*include\/tutti\//, "", path)
  name = $0; sub(/^.*: warning: Member /, "", name)
  scope = $0; sub(/ is not documented.*/, "", scope); sub(/.* of (class|struct) /, "", scope); sub(/<.*/, "", scope)
  sub(/^.*::/, "", scope)
  if (name ~ /\) -> /) name = "deduction guide"
  else if (name ~ /^operator\(\)/) name = "operator()"
  else { sub(/[ ({[].*/, "", name) }
  if (name == scope) name = "constructor"
  for (folder_of = path; !((folder_of, name) in sentence) && sub(/\/[^\/]*$/, "", folder_of);) {}
  if (!((folder_of, name) in sentence)) folder_of = "*"
  text = ((folder_of, name) in sentence) ? sentence[folder_of, name] : ""
  if (name == "deduction guide") text = hidden
  if (text != "") missing[path, line + 0] = text
  next
}

FNR == 1 {
  if (count) write_out()
  path = FILENAME; sub(/^.*include\/tutti\//, "", path)
  count = 0
}
# The inline namespace of the version is no part of what a reader is shown.
{ sub(/^namespace tutti::inline v[0-9_]+/, "namespace tutti"); text_of[++count] = $0 }
END { if (!failed && count) write_out() }

# The comment goes before the first line of the declaration.
function write_out(   i, at, topic, out) {
  for (i = 1; i <= topics; ++i) if (index(path, prefix[i]) == 1) topic = topic_of[i]
  for (i = 1; i <= count && topic == ""; ++i)
    if (text_of[i] ~ /^namespace tutti/) {
      print path " has no topic: give it one in docs/reference/topics.txt"
      failed = 1
      exit 1
    }
  for (i = 1; i <= count; ++i)
    if ((path, i) in missing) {
      for (at = i; at > 1 && !ends(text_of[at - 1]) && text_of[at - 1] !~ /^ *\/\//;) --at
      text_of[at] = "/** " missing[path, i] " */ " text_of[at]
      if (missing[path, i] == hidden) text_of[i] = text_of[i] " /** @endcond */"
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
