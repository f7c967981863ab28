# SPDX-License-Identifier: Apache-2.0
#
# Read with `.`: hosts on this machine. Each is a network namespace with a name of its own and a cable to one switch;
# all see the same files. Everything is in namespaces of this script, and is removed with it.

# skip_without_hosts: hosts require root, ip(8) and unshare(1).
skip_without_hosts() {
  [ "$(id -u)" = 0 ] || skip "several hosts are network namespaces, which only root may make"
  command -v ip > /dev/null || skip "there is no ip(8) (Debian: iproute2)"
  [ -f /etc/hosts ] || skip "hosts get names of their own in place of /etc/hosts, which this machine has not"
  unshare --mount --net --uts --pid --fork true || skip "this machine allows no namespaces"
}

# apart <script> <argument...>: runs a script where hosts can be made. Processes that it leaves running end with it.
apart() {
  unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc sh "$@"
}

# make_hosts <folder> <name...>: the first has the address 10.77.0.1.
make_hosts() {
  hosts_folder=$1
  shift
  mkdir -p "$hosts_folder/bin" /run/netns
  mount -t tmpfs tmpfs /run/netns
  ip link set lo up
  ip link add switch type bridge
  ip link set switch up
  echo "127.0.0.1 localhost" > "$hosts_folder/hosts"
  number=0
  for host in "$@"; do
    number=$((number + 1))
    ip netns add "$host"
    ip link add "port$number" type veth peer name eth0 netns "$host"
    ip link set "port$number" master switch up
    ip -n "$host" link set lo up
    ip -n "$host" addr add "10.77.0.$number/24" dev eth0
    ip -n "$host" link set eth0 up
    echo "10.77.0.$number $host $host.ranks" >> "$hosts_folder/hosts"
  done
  mount --bind "$hosts_folder/hosts" /etc/hosts

  # The command by which launchers reach a host. Like the real ssh it passes no variables on.
  cat > "$hosts_folder/bin/ssh" << 'SSH'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do
  case $1 in -o | -p | -l) shift ;; esac
  shift
done
host=$1
shift
exec env -i HOME="$HOME" PATH="$PATH" ip netns exec "$host" unshare --uts \
  sh -c 'hostname "$0" && cd "$HOME" && eval "$1"' "$host" "$*"
SSH
  chmod +x "$hosts_folder/bin/ssh"
  PATH="$hosts_folder/bin:$PATH"
}

# on <host> <command...>: runs a command there, with the variables of this script.
on() {
  on_host=$1
  shift
  ip netns exec "$on_host" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$on_host" "$@"
}
