#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compares the names that the headers outside detail/ offer with docs/reference/api.txt, so that a change of the public
# surface is seen in review: what is declared at namespace scope, and public members; of the trainer without members.
#
#   sh api.sh <repository>            compares, prints the differences and fails if there are any
#   sh api.sh <repository> --write    writes docs/reference/api.txt
set -eu
cd "${1:?usage: api.sh <repository> [--write]}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
found=$folder/api.txt

# The headers without what they keep to themselves, and without what ctags cannot read: the inline namespace of the
# version, and parentheses around names, which keep macros away.
cp -R include/tutti "$folder/tutti"
find "$folder/tutti" -name detail -prune -exec rm -r {} +
find "$folder/tutti" -name '*.hpp' -exec sed -i \
  -e '/^namespace detail {/,/^}  \/\/ namespace detail/d' -e 's/^namespace tutti::inline v[0-9_]*/namespace tutti/' \
  -e 's/(\([a-z][a-z]*\))(/ \1(/' {} +

# Of the tags: name, file, kind, scope, access. Concepts are unknown to ctags.
(cd "$folder/tutti" && find . -name '*.hpp' | sed 's|^\./||' | LC_ALL=C sort |
  xargs ctags-universal -f - --languages=C++ --langmap=C++:.hpp --kinds-C++=cdefgmpstuv --fields=aks --extras= --sort=no \
    --kinddef-C++=C,concept,concepts --regex-C++='/^concept ([a-z_]+)/\1/C/') |
  awk -F '\t' '{
    scope = ""; access = ""
    for (i = 4; i <= NF; ++i) {
      if ($i ~ /^(namespace|class|struct|union|enum|function):/) { scope = $i; sub(/^[a-z]+:/, "", scope) }
      if ($i ~ /^access:/) access = substr($i, 8)
    }
    # What is private, or of a function, has no names for others in it.
    if (access ~ /private|protected/ || $0 ~ /\tfunction:/ || (scope in hidden)) { hidden[scope "::" $1]; next }
    if (scope ~ /(^|::)(detail|std|__anon[0-9a-f]*)(::|$)/ || $1 ~ /^__anon/) next
    in_class = $0 ~ /\t(class|struct|union|enum):/
    # What is only declared here: a member that is defined elsewhere, or cold code.
    if ($0 ~ /;"\tp(\t|$)/ && ($0 ~ /= delete/ || $1 == "operator =" || (!in_class && $0 !~ /TUTTI_DECL/))) next
    if (in_class && $2 ~ /^nn\//) next
    sub(/^tutti(::)?/, "", scope)
    print $2 ": " (scope == "" ? "" : scope "::") $1
  }' | LC_ALL=C sort -u > "$found"

if [ "${2:-}" = --write ]; then
  cp "$found" docs/reference/api.txt
elif ! diff -u docs/reference/api.txt "$found"; then
  echo "The public surface has changed. If it was meant to: sh test/project/api/api.sh . --write; say why in the commit."
  exit 1
fi
