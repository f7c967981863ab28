#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command in a guest that has an RDMA device, Soft-RoCE, whatever this host has. usage() says how.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

usage() {
  cat << 'TEXT'
usage: sh test/verbs/softroce/run.sh [--limit SECONDS] [--count-instructions] -- COMMAND [ARGUMENT...]

Boots a Linux kernel of Debian's in QEMU, without hardware virtualisation and without rights on this host, and runs
the command there in this folder. It sees the file system of this host, read-only, and may write to /run, which is
its TMPDIR, and to /dev/shm. Its RDMA device is rxe0, at address 10.99.0.1 of an interface rdma0.

Its output comes here, and its status is returned. 77: this host has no QEMU, or no kernel could be had. 124: the
guest ran for longer than the limit (150 s). 125: it ended without a status.

  --count-instructions  The clock of the guest goes on by a nanosecond for each instruction, whatever the load of this
                        host is: times that are measured in the guest can be had again.
TEXT
}

limit=150 clock=""
while [ $# -gt 0 ]; do
  case $1 in
    --limit) limit=${2:?--limit needs a number of seconds} && shift ;;
    --count-instructions) clock="-icount shift=0" ;;
    --) shift && break ;;
    --help | -h) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
[ $# -gt 0 ] || { usage >&2 && exit 2; }

cache=$root/build/softroce
mkdir -p "$cache"
flock "$cache" sh "$here/prepare.sh" "$cache"

work=$(mktemp -d "$cache/run.XXXXXX")
guest=""
trap '[ -z "$guest" ] || kill "$guest" 2> /dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# A word of the command, as the shell of the guest reads it.
quoted() { printf "'%s' " "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
{
  printf 'cd ' && quoted "$PWD" && printf '&& exec env '
  for word in "$@"; do
    quoted "$word"
  done
} > "$work/command"
cp "$here/in_guest.sh" "$work/"

# Kernel messages go to the first serial port, the command's output to the second. One processor: on several, the
# emulator's interrupts between them are slow.
timeout -k 5 "$limit" qemu-system-x86_64 -machine q35 -accel tcg $clock -cpu max -smp 1 -m 2048 -nodefaults -display none \
  -no-reboot -kernel "$cache/vmlinux" -initrd "$cache/initramfs" \
  -append "console=ttyS0 quiet panic=-1 oops=panic mitigations=off random.trust_cpu=on tsc=reliable no_timer_check" \
  -serial "file:$work/console" -serial stdio -net none \
  -fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap" \
  -device virtio-9p-pci,fsdev=host,mount_tag=host \
  -fsdev "local,id=work,path=$work,security_model=none" -device virtio-9p-pci,fsdev=work,mount_tag=work \
  < /dev/null &
guest=$!
ended=0
wait "$guest" || ended=$?
guest=""
if [ -s "$work/status" ]; then
  exit "$(cat "$work/status")"
fi
{
  echo "error: the guest ended without a status (QEMU: $ended, 124 is the limit of $limit s). The kernel's last lines:"
  tail -n 20 "$work/console" 2> /dev/null || true
} >&2
[ "$ended" -eq 124 ] && exit 124
exit 125
