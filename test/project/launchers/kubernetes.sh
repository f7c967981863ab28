# SPDX-License-Identifier: Apache-2.0
#
# Read by launchers.sh: the manifest is consistent, and its pods, which are hosts here, find each other.

cat > read_manifest.py << 'PYTHON'
import sys, yaml

service, workers = yaml.safe_load_all(open("blocks/statefulset.yaml"))
spec = workers["spec"]
pod = spec["template"]
labels = pod["metadata"]["labels"]
assert (service["kind"], workers["kind"]) == ("Service", "StatefulSet")
assert service["spec"]["clusterIP"] == "None" and service["spec"]["publishNotReadyAddresses"] is True
assert spec["serviceName"] == service["metadata"]["name"] == "ranks"
assert spec["selector"]["matchLabels"] == service["spec"]["selector"] == labels
assert spec["podManagementPolicy"] == "Parallel"
[container] = pod["spec"]["containers"]
variables = {v["name"]: v["value"] for v in container["env"]}
assert all(isinstance(value, str) for value in variables.values()), "Kubernetes takes only texts"
assert variables["TUTTI_SIZE"] == str(spec["replicas"])
assert variables["TUTTI_MASTER_ADDR"] == f"{workers['metadata']['name']}-0.{spec['serviceName']}"
names = [f"{workers['metadata']['name']}-{i}" for i in range(spec["replicas"])]
open("pods", "w").write("\n".join(names) + "\n")
open("blocks/pod", "w").write(" ".join(f"{k}={v}" for k, v in variables.items()) + f" .{container['command'][0]}\n")
PYTHON
python3 read_manifest.py || fail "the manifest does not hold together"
pods=$(cat pods)
make_hosts "$scratch" $pods
expect "$(wc -l < pods)" everywhere pod $pods
