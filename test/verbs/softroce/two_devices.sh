#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# To be run in the guest: makes two more devices, left and right, with a cable between them, and runs the test that
# TUTTI_TWO_DEVICES names: first with ports of different MTU, then with a cable that loses one packet in fifty. They stay
# there, so this comes last.
set -eu

ip link add left type veth peer name right
ip link set left mtu 4300 address 02:00:00:00:00:01
ip link set right mtu 1500 address 02:00:00:00:00:02
ip addr add 10.98.0.1/32 dev left
ip addr add 10.98.0.2/32 dev right
ip addr add 10.98.0.3/32 dev right  # unknown to the other end: see arp_ignore
ip link set left up
ip link set right up

# Addresses of this host are local; without these rules packets would not use the cable.
ip rule add pref 100 lookup local
ip rule add pref 10 oif left lookup 10
ip rule add pref 10 oif right lookup 11
ip rule del pref 0
ip route add 10.98.0.2 dev left src 10.98.0.1 table 10
ip route add 10.98.0.1 dev right src 10.98.0.2 table 11
ip neigh add 10.98.0.2 lladdr 02:00:00:00:00:02 dev left nud permanent
ip neigh add 10.98.0.1 lladdr 02:00:00:00:00:01 dev right nud permanent
for end in left right; do
  echo 1 > "/proc/sys/net/ipv4/conf/$end/accept_local"
  echo 8 > "/proc/sys/net/ipv4/conf/$end/arp_ignore"
  rdma link add "$end" type rxe netdev "$end"
done

"$TUTTI_TWO_DEVICES" --run_test=paths*
for end in left right; do
  tc qdisc add dev "$end" root netem loss 2%
done
"$TUTTI_TWO_DEVICES" --run_test=losses
