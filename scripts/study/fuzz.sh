#!/usr/bin/env bash
# Runs each target of tests/fuzz.rs with a million inputs, one target after the other: none may panic, take longer than
# 5 s or use more than 512 MiB. The failing input is left in a file, whose path is printed.
#
#   scripts/study/fuzz.sh [INPUTS [TARGET...]]
#
# GRAYMARK_FUZZ_SEED is the seed of the inputs; without it one is chosen at random and printed. A failing input belongs
# in tests/fuzz/corpus/TARGET.
set -euo pipefail
cd "$(dirname "$0")/../.."
export GRAYMARK_FUZZ_INPUTS=${1:-1000000}
export GRAYMARK_FUZZ_SEED=${GRAYMARK_FUZZ_SEED:-$RANDOM$RANDOM}
shift || true
# Files of the inputs need no disk.
[ -w /dev/shm ] && export TMPDIR=/dev/shm

# Not for release: overflows would not be detected there.
cargo test --all-features --locked --test fuzz --no-run
all=$(cargo test --all-features --locked --test fuzz -- --list 2>/dev/null | sed -n 's/: test$//p')
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(echo "$all" | sed 's/.*:://')
echo "fuzz: $GRAYMARK_FUZZ_INPUTS inputs for each of ${targets[*]}; GRAYMARK_FUZZ_SEED=$GRAYMARK_FUZZ_SEED"
failed=()
for target in "${targets[@]}"; do
  name=$(echo "$all" | grep "::$target\$") || {
    echo "there is no target $target; there are: $(echo "$all" | sed 's/.*:://' | xargs)" >&2
    exit 2
  }
  log=$(mktemp)
  # The limit of address space is far above the tested one: it covers what the test cannot count, such as C libraries.
  if (ulimit -v 16777216; nice -n 19 cargo test --all-features --locked --test fuzz -- --exact "$name" --nocapture) \
    > "$log" 2>&1; then
    grep '^fuzz ' "$log"
  else
    grep -v '^\(running\|   \)' "$log" | tail -n 20
    failed+=("$target")
  fi
  rm -f "$log"
done
[ ${#failed[@]} -eq 0 ] || { echo "fuzz: failed: ${failed[*]}" >&2; exit 1; }
