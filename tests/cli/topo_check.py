"""What dtrain topo printed, checked by other code.

topo_check.py svg           a drawing on stdin: well-formed, all inside, no text over another
topo_check.py json          JSON of a node with tasks on stdin: what a binding must keep
topo_check.py golden T F    JSON of topology file F on stdin against the rows of the table T
Prints what is wrong, nothing otherwise.
"""
import json
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"


def cpus(text):
    result = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        result.update(range(int(first), int(last or first) + 1))
    return result


def text_box(node):
    size = float(node.get("font-size"))
    wide = 0.602 if "Mono" in node.get("font-family") else 0.68 if node.get("font-weight") else 0.6
    width = len(node.text) * size * wide
    left = float(node.get("x")) - (width / 2 if node.get("text-anchor") == "middle" else 0)
    base = float(node.get("y"))
    return left, base - size * 0.76, left + width, base + size * 0.24


def check_svg():
    root = ElementTree.parse(sys.stdin).getroot()
    width, height = float(root.get("width")), float(root.get("height"))
    boxes = [(text_box(node), node.text) for node in root.iter(SVG + "text")]
    for rect in root.iter(SVG + "rect"):
        x, y, w, h = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        if x < 0 or y < 0 or x + w > width or y + h > height or w <= 0 or h <= 0:
            print("a box is outside:", x, y, w, h)
    if not boxes:
        print("no text at all")
    for i, (a, one) in enumerate(boxes):
        if a[0] < 0 or a[1] < 0 or a[2] > width or a[3] > height:
            print(f"outside: {one}")
        for b, two in boxes[:i]:
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                print(f"'{one}' is over '{two}'")


def check_json():
    node = json.load(sys.stdin)
    gpus, tasks = node["gpus"], node["tasks"]
    used = [task["gpu"] for task in tasks if task["gpu"] is not None]
    if len(used) != len(set(used)):
        print("a GPU twice:", used)
    for task in tasks:
        if not task["reason"]:
            print("no reason for task", task["task"])
        if task["gpu"] is None:
            continue
        gpu = gpus[task["gpu"]]
        if task["nic"] is not None and gpu["nics"] and task["nic"] not in gpu["nics"]:
            print(f"task {task['task']}: {task['nic']} is none of {gpu['nics']}")
        if gpu["cpus"] and not cpus(task["cpus"]) <= cpus(gpu["cpus"]):
            print(f"task {task['task']}: CPUs {task['cpus']} are not in {gpu['cpus']}")
    for gpu in gpus:
        peers = [link["peer"] for link in gpu["links"]]
        if peers != [other for other in range(len(gpus)) if other != gpu["index"]]:
            print(f"GPU {gpu['index']} has links to {peers}")
        for link in gpu["links"]:
            back = [one for one in gpus[link["peer"]]["links"] if one["peer"] == gpu["index"]]
            if [(one["kind"], one["count"]) for one in back] != [(link["kind"], link["count"])]:
                print(f"GPU {gpu['index']}: {link} is not what {back} says")


def check_golden(table, name):
    with open(table, encoding="utf-8") as file:
        header = next(file).rstrip("\n").split("\t")
        rows = [dict(zip(header, line.rstrip("\n").split("\t"))) for line in file]
    expected = {row["gpu_pci"]: row for row in rows if row["file"] == name}
    gpus = json.load(sys.stdin)["gpus"]
    if {gpu["pci"] for gpu in gpus} != set(expected):
        print(f"GPUs {[gpu['pci'] for gpu in gpus]}, expected {sorted(expected)}")
        return
    for gpu in gpus:
        row = expected[gpu["pci"]]
        if row["numa_os"] != "" and str(gpu["numa"]) not in row["numa_os"].split(","):
            print(f"{gpu['pci']} is at NUMA {gpu['numa']}, expected {row['numa_os']}")
        if row["cpus_os"] != "" and cpus(gpu["cpus"]) != cpus(row["cpus_os"]):
            print(f"{gpu['pci']} has CPUs {gpu['cpus']}, expected {row['cpus_os']}")


{"svg": check_svg, "json": check_json, "golden": check_golden}[sys.argv[1]](*sys.argv[2:])
