#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Every header opens the namespace of the version in tutti/version.hpp, so that two versions in one program share no
# name.
#
#   sh version_in_names.sh <include folder>
set -eu
cd "${1:?usage: version_in_names.sh <include folder>}"
version=$(sed -n 's/^#define TUTTI_VERSION_[A-Z]* //p' tutti/version.hpp | paste -s -d _)
wrong=$(grep -rnE '(^|[^/] *)\<namespace +tutti\>[^;]*\{|\<v[0-9]+_[0-9]+_[0-9]+_?\>|tutti_v[0-9]' tutti |
  grep -vE "^[^:]*:[0-9]*:(namespace tutti::inline v$version(::(inline )?[a-z_]+)* \{|.*tutti_v${version}_[A-Za-z])" || true)
[ -z "$wrong" ] || { echo "these lines are not of the version in tutti/version.hpp, v$version:" && echo "$wrong" && exit 1; }
