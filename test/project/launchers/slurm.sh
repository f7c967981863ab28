# SPDX-License-Identifier: Apache-2.0
#
# Read by launchers.sh: a Slurm of two nodes, without accounting, in namespaces. Its processes end with them.

needs slurmctld slurmctld
needs slurmd slurmd
needs srun slurm-client
needs munged munge
again_apart
make_hosts "$scratch" node0 node1

mkdir -p slurm/state slurm/node0 slurm/node1 munge
chmod 700 munge
mungekey --create --keyfile munge/key
munged --force --key-file="$PWD/munge/key" --socket="$PWD/munge/socket" --pid-file="$PWD/munge/pid" \
  --log-file="$PWD/munge/log" --seed-file="$PWD/munge/seed"
export SLURM_CONF="$PWD/slurm/slurm.conf"
cat > "$SLURM_CONF" << CONF
ClusterName=tutti
SlurmctldHost=node0
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/munge/socket
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/%n
SlurmctldPidFile=$PWD/slurm/controller.pid
SlurmdPidFile=$PWD/slurm/%n.pid
SlurmctldLogFile=$PWD/slurm/controller.log
SlurmdLogFile=$PWD/slurm/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=node0,node1 CPUs=8
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
echo "CgroupPlugin=cgroup/v1" > slurm/cgroup.conf
on node0 slurmctld
on node1 slurmd
on node0 slurmd
deadline=$(($(date +%s) + 60))
until [ "$(on node0 sinfo --noheader --Node --format=%T | sort -u)" = idle ]; do
  [ "$(date +%s)" -lt $deadline ] || {
    tail slurm/*.log
    fail "the nodes of Slurm do not come up"
  }
  sleep 0.2
done

expect 8 block_on node0 srun
expect 8 block_on node0 salloc
on node0 sh -eu blocks/sbatch
expect 8 cat job.out
expect 2 on node0 srun -N 2 ./program
expect 1 on node0 salloc -n 8 ./program
