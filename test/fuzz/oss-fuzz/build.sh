#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the fuzz targets as OSS-Fuzz expects: programs, corpora and dictionaries in $OUT, by $CXX with $CXXFLAGS and
# $LIB_FUZZING_ENGINE. Run in the root of the repository; arguments name some of the targets.
set -eu

for source in test/fuzz/*.cpp test/*/fuzz/*.cpp; do
  name=$(basename "$source" .cpp)
  folder=$(dirname "$source")
  [ $# = 0 ] || case " $* " in *" $name "*) ;; *) continue ;; esac
  libraries=""
  if grep -q '<tutti/nn/' "$source"; then
    libraries="-Wl,-Bstatic -lz -Wl,-Bdynamic"  # there is no shared one where OSS-Fuzz runs
  fi
  # shellcheck disable=SC2086  # flags are words
  $CXX $CXXFLAGS -std=c++20 -Iinclude -Itest "$source" -o "$OUT/$name" $LIB_FUZZING_ENGINE $libraries
  rm -f "$OUT/${name}_seed_corpus.zip"
  zip -jq "$OUT/${name}_seed_corpus.zip" "$folder/corpus/$name"/*
  [ ! -e "$folder/$name.dict" ] || cp "$folder/$name.dict" "$OUT/$name.dict"
done
