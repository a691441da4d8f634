#!/usr/bin/env bash
# Figure 7 of TPCC-UVa: throughput by file system. Each file system is made in an image file of its own, mounted, and
# used for the databases of one grid, which shuffles their order within each repeat. Needs root, loop devices, 4 GB of
# disk for each file system, and the packages e2fsprogs, xfsprogs and btrfs-progs; a file system that cannot be made or
# mounted is named and left out. The image files share one disk, and a loop device adds work of its own, so that only
# comparisons between them count.
#
#   scripts/study/file-systems.sh [FILE_SYSTEMS="ext2 ext3 ext4 xfs btrfs"] [REPEATS=3] [WAREHOUSES=5] [DURATION=30s]
#
# GRAYMARK=FILE is the program, OUT=DIR the sweep's directory (default: graymark-runs/file-systems).
set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GRAYMARK=${GRAYMARK:-$HERE/target/release/graymark}
FILE_SYSTEMS=${1:-ext2 ext3 ext4 xfs btrfs}
REPEATS=${2:-3}
WAREHOUSES=${3:-5}
DURATION=${4:-30s}
OUT=${OUT:-graymark-runs/file-systems}
[ "$(id -u)" = 0 ] || { echo "mounting file systems needs root" >&2; exit 2; }
[ -x "$GRAYMARK" ] || { echo "build first: cargo build --release" >&2; exit 2; }

WORK=$(mktemp -d -t graymark-file-systems.XXXXXX)
chmod 755 "$WORK"
remove() {
  for place in "$WORK"/*/; do ! mountpoint -q "$place" || umount "$place"; done
  rm -rf "$WORK"
}
trap remove EXIT

directories=()
for kind in $FILE_SYSTEMS; do
  image=$WORK/$kind.image
  mkdir "$WORK/$kind"
  # Blocks are written before the first run, so that no run pays for their allocation.
  fallocate -l 4G "$image"
  dd if=/dev/zero of="$image" bs=4M count=1024 conv=notrunc,fdatasync status=none
  force=-F
  case $kind in xfs | btrfs) force=-f ;; esac
  if mkfs -t "$kind" "$force" "$image" >/dev/null 2>"$WORK/error" &&
    mount -t "$kind" -o loop "$image" "$WORK/$kind" 2>"$WORK/error"; then
    directories+=(--data-directory "$WORK/$kind")
  else
    echo "$kind: not run: $(head -n 1 "$WORK/error")" >&2
  fi
done
[ ${#directories[@]} -gt 0 ] || { echo "no file system could be mounted" >&2; exit 1; }

"$GRAYMARK" sweep grid clients=8 --db postgres:local -w "$WAREHOUSES" "${directories[@]}" --repeats "$REPEATS" \
  --steady 0s --ramp-up 10s --duration "$DURATION" --out "$OUT"
