#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# To be run in the guest: there is the device, and another project's program passes messages over it, asleep in between.
set -eu
[ -e /sys/class/infiniband/rxe0 ] || { echo "there is no device rxe0" && exit 1; }

ibv_rc_pingpong -d rxe0 -g 1 -e -n 200 > /run/server &
server=$!
until grep -q ':4853 .* 0A ' /proc/net/tcp /proc/net/tcp6; do  # until it listens at its port, 18515
  kill -0 "$server" 2> /dev/null || { echo "ibv_rc_pingpong did not start" && exit 1; }
done
ibv_rc_pingpong -d rxe0 -g 1 -e -n 200 127.0.0.1 > /run/client
wait "$server"
cat /run/client
grep -q '^200 iters' /run/client
