# SPDX-License-Identifier: Apache-2.0
#
# The second half of `init`, on the host's file system: makes the RDMA device, runs the command, and ends the guest.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/run TMPDIR=/run LC_ALL=C
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
stty -F /dev/ttyS1 raw -echo
ulimit -l unlimited
ulimit -c 0
ip link set lo up

# 4096 bytes, the largest MTU of a path, and RoCE's headers.
ip link add rdma0 type dummy && ip link set rdma0 mtu 4300 && ip addr add 10.99.0.1/24 dev rdma0 &&
  ip link set rdma0 up && rdma link add rxe0 type rxe netdev rdma0
{
  echo "the guest was ready after $(cut -d ' ' -f 1 /proc/uptime) s of its time"
  sh /run/guest/command
  echo $? > /run/guest/status
} < /dev/null > /dev/ttyS1 2>&1
sync
exec /run/busybox poweroff -f
