#!/usr/bin/env bash
# Installs the build into a fresh prefix and builds the consumer against it: run.sh SOURCE BUILD
set -euo pipefail
source=$1 build=$2
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix/installed" >/dev/null
cmake -S "$source/tests/install" -B "$prefix/consumer" -DCMAKE_PREFIX_PATH="$prefix/installed" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$prefix/consumer" >/dev/null
"$prefix/consumer/consumer"
if [ -x "$prefix/installed/bin/tidemark" ]; then env -u LD_LIBRARY_PATH "$prefix/installed/bin/tidemark" --version; fi
