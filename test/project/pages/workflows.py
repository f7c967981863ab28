# SPDX-License-Identifier: Apache-2.0
"""Checks the text of workflows for GitHub, which no test runs. Without a parser of YAML it ends with 77.

    python3 workflows.py <root of the repository>
"""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    print("SKIP: there is no parser of YAML (Debian: python3-yaml)")
    sys.exit(77)

root = pathlib.Path(sys.argv[1])
failed = False


def complain(place, what):
    global failed
    failed = True
    print(f"{place}: {what}")


def check_step(place, step):
    if "uses" in step and not re.fullmatch(r"actions/[a-z-]+@v[0-9]+", step["uses"]):
        complain(place, f"{step['uses']} is not an action of GitHub's own, by its major version")
    for script in re.findall(r"(?:^|\bsh |\. )([a-z/]+\.sh)", step.get("run", "")):
        if not (root / script).is_file():
            complain(place, f"there is no {script}")


files = sorted((root / ".github/workflows").glob("*.yml"))
if not files:
    complain(root, "there is no workflow")
for file in files:
    text = file.read_text()
    workflow = yaml.safe_load(text)
    if "secrets" in text:
        complain(file, "takes a secret")
    if workflow.get("permissions") != {"contents": "read"}:
        complain(file, "may do more than read")
    for name, job in workflow["jobs"].items():
        if not isinstance(job.get("timeout-minutes"), int):
            complain(file, f"{name} has no timeout-minutes")
        for step in job["steps"]:
            check_step(f"{file}: {name}", step)
sys.exit(failed)
