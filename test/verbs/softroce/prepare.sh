#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: prepare.sh FOLDER
# Makes what the guest of run.sh boots in FOLDER, unless it is there: `vmlinux` and `initramfs`, of a kernel package that
# is fetched and unpacked, not installed. Status 77, and why: this host cannot.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=$1
. "$here/../../../cmake/setup.sh"
PATH=$PATH:/usr/sbin:/sbin  # often missing in a user's shell

unable() {
  say "SKIP: there is no Soft-RoCE guest here: $*"
  exit 77
}

# Modules to load, without their dependencies.
modules="virtio_pci 9pnet_virtio 9p crc32c_generic crc32_generic crc32_pclmul ib_uverbs rdma_ucm rdma_rxe dummy veth \
  sch_netem"

for tool in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio modprobe:kmod xz:xz-utils zstd:zstd \
  rdma:iproute2 ibv_rc_pingpong:ibverbs-utils; do
  command -v "${tool%%:*}" > /dev/null 2>&1 ||
    unable "${tool%%:*} is missing; install ${tool#*:}, or run \"sh test/run.sh --only softroce\", which does"
done

# The name of the package: the kernel with the newest rxe that this release has.
kernel_package() {
  for meta in linux-image-6.12-amd64 linux-image-amd64; do
    apt-cache depends "$meta" 2> /dev/null | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p'
  done | head -n 1
}

fetch_kernel() {
  say "Fetching a kernel for the guest (about 110 MB)"
  rm -rf "$cache/package" && mkdir "$cache/package" && cd "$cache/package"
  package=$(kernel_package)
  [ -n "$package" ] && timeout 100 apt-get -o Acquire::http::Timeout=10 -o Acquire::Retries=0 download -q "$package"
}

# A bzImage holds the kernel proper, compressed; where, its header says (Documentation/arch/x86/boot.rst).
unpack_vmlinux() {
  number() { od -An -v -t "u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }
  begin=$((($(number "$1" $((0x1f1)) 1) + 1) * 512 + $(number "$1" $((0x248)) 4)))
  bytes=$(number "$1" $((0x24c)) 4)
  case $(od -An -t x1 -j "$begin" -N 4 "$1" | tr -d ' ') in
    fd377a58) unpack="xz -dc --single-stream" ;;
    28b52ffd) unpack="zstd -dcq" ;;
    *) unable "the kernel in $1 is compressed in a way that prepare.sh does not know" ;;
  esac
  # The last four bytes say how long it is unpacked.
  tail -c "+$((begin + 1))" "$1" | head -c $((bytes - 4)) | $unpack > "$2"
}

if [ ! -s "$cache/vmlinux" ]; then
  command -v apt-get > /dev/null 2>&1 || unable "it boots a kernel of Debian's, and this is no Debian"
  (fetch_kernel) || unable "no kernel package could be fetched within 100 s (apt-get update may help)"
  rm -rf "$cache/kernel" && mkdir "$cache/kernel"
  dpkg-deb --fsys-tarfile "$cache"/package/*.deb | tar -x -C "$cache/kernel" --exclude='*/drivers/gpu' \
    --exclude='*/drivers/media' --exclude='*/sound' --wildcards './boot/vmlinuz-*' './lib/modules/*'
  rm -rf "$cache/package" "$cache/initramfs"
  unpack_vmlinux "$cache"/kernel/boot/vmlinuz-* "$cache/vmlinux.new"
  mv "$cache/vmlinux.new" "$cache/vmlinux"
fi

if [ ! -s "$cache/initramfs" ] || [ "$here/init" -nt "$cache/initramfs" ] || [ "$0" -nt "$cache/initramfs" ]; then
  version=$(ls "$cache/kernel/lib/modules")
  tree=$cache/tree
  depmod -b "$cache/kernel" "$version"
  rm -rf "$tree" && mkdir -p "$tree/bin" "$tree/dev" "$tree/proc" "$tree/sys" "$tree/host" "$tree/modules"
  cp "$(command -v busybox)" "$tree/bin/busybox"
  cp "$here/init" "$tree/init" && chmod 755 "$tree/init"
  for module in $modules; do  # built-in modules have no file
    modprobe -d "$cache/kernel" -S "$version" --show-depends "$module" 2> /dev/null || true
  done | awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r file; do
    case $file in
      *.xz) xz -dc "$file" > "$tree/modules/$(basename "$file" .xz)" ;;
      *) cp "$file" "$tree/modules/" ;;
    esac
    basename "$file" .xz >> "$tree/modules/order"
  done
  (cd "$tree" && find . | cpio -o -H newc --quiet) > "$cache/initramfs.new"
  rm -rf "$tree"
  mv "$cache/initramfs.new" "$cache/initramfs"
fi
