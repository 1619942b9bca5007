#!/usr/bin/env bash
# Runs one fuzz target: fuzz/run.sh TARGET [SECONDS] [none|address]
#
# Without a sanitizer the stable toolchain is enough. The address sanitizer needs a flag that a stable compiler
# takes only with RUSTC_BOOTSTRAP, which is set here: a cargo does not hand it to a cargo below it.
# A failing input stays under fuzz/artifacts; make a test of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:?"usage: fuzz/run.sh TARGET [SECONDS] [none|address]"}
seconds=${2:-60}
sanitizer=${3:-none}

if [ "$sanitizer" != none ]; then
  export RUSTC_BOOTSTRAP=1
fi
exec cargo fuzz run --sanitizer "$sanitizer" "$target" -- -max_total_time="$seconds"
