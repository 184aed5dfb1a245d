"""Compares `dtrain plan --json` with the groups that other programs' own code made.

plan_groups.py DTRAIN RECORDS.jsonl: a line for each record, "ok NAME", "skip NAME # WHY" or
"not NAME # WHY".
"""
import json
import subprocess
import sys

SIZES = ("tp", "cp", "ep", "dp", "pp", "etp")
OF_OTHER_AXES = {"hierarchical": "groups inside a group are no axes", "dp_replicate": "dp is one axis"}


def command(record):
    args = ["--world", str(record["world"])]
    for size in SIZES:
        if size in record:
            args += [f"--dtrain-{size}={record[size]}"]
    args += ["--dtrain-order", record["order"].split("= ")[-1]]
    args += ["--groups", ",".join(record.get("groups", {"tp": 0}))]
    args += ["--expert-groups", ",".join(record.get("expert_groups", {}))]
    return args + ["--json"]


def less_offset(groups, offset):
    return {name: [[rank - offset for rank in group] for group in lists] for name, lists in groups.items()}


def coordinates_differ(plan):
    """A rank's coordinate on an axis is its place in that axis' group."""
    for key, prefix in (("groups", ""), ("expert_groups", "e")):
        for axis, groups in plan[key].items():
            name = prefix + axis if axis in ("tp", "dp") else axis
            if "-" not in axis and any(
                plan["ranks"][rank][name] != i for group in groups for i, rank in enumerate(group)
            ):
                return f"coordinate {name} is not the place in the group"
    return ""


def difference(record, plan):
    offset = record.get("rank_offset", 0)
    for key in ("groups", "expert_groups"):
        expected = less_offset(record.get(key, {}), offset)
        for name in expected:
            if plan[key].get(name) != expected[name]:
                return f"{key} {name} is {plan[key].get(name)}, expected {expected[name]}"
        if list(plan[key]) != list(expected):
            return f"{key} has {list(plan[key])}, expected {list(expected)}"
    for size in (*SIZES, "edp"):
        if size in record and plan["axes"][size] != record[size]:
            return f"{size} is {plan['axes'][size]}, expected {record[size]}"
    return coordinates_differ(plan)


def check(dtrain, record):
    for key, why in OF_OTHER_AXES.items():
        if key in record:
            return "skip", why
    args = command(record)
    result = subprocess.run([dtrain, "plan", *args], capture_output=True, text=True, check=False)
    if "error" in record:
        refused = result.returncode == 1 and result.stdout == "" and result.stderr != ""
        return ("ok", "") if refused else ("not", f"not refused: {args}")
    if result.returncode != 0:
        return "not", f"{args}: {result.stderr.strip()}"
    why = difference(record, json.loads(result.stdout))
    return ("not", f"{args}: {why}") if why else ("ok", "")


def title(record):
    sizes = " ".join(f"{size}={record[size]}" for size in ("world", *SIZES) if size in record)
    refused = " refused" if "error" in record else ""
    source = record["source"].split("@")[0].split()[0]
    return f"{source}: {sizes} {record.get('order', '')}{refused}"


def main():
    dtrain, path = sys.argv[1:]
    with open(path, encoding="utf-8") as records:
        for line in records:
            record = json.loads(line)
            verdict, why = check(dtrain, record)
            print(verdict, title(record) + (f" # {why}" if why else ""))


main()
