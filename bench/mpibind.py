"""dtrain's binding beside mpibind's rules: mpibind.py DTRAIN LOCALITY.tsv FILE.xml...

mpibind's rules, as understood from LLNL/mpibind (its README.md and flux/options.md; src/internals.c for
what these leave open, and the mappings that its test suite expects):
- Domains: the NUMA nodes, in hwloc's order; with GPUs in the node and gpu_optim, the default, those with
  GPUs only.
- The workers (tasks) are spread evenly over the domains in rank order, the first domains taking the
  remainder, whatever the number of GPUs that a domain has.
- A domain's cores are cut into consecutive shares, one a worker, the first taking the remainder; fewer
  cores than workers: neighbours share a core. smt, by default one hardware thread a core, chooses threads
  inside these cores and moves no worker, so that it is left out: shares are whole cores here.
- A domain's GPUs, in hwloc's order, are cut the same way; fewer GPUs than workers: neighbours share one. A
  GPU is a PCI address: the parts of a card are one.
- greedy, the default: fewer workers than NUMA nodes (all, not only those with GPUs) turns it round: the
  nodes are spread over the workers, and a worker gets all cores and GPUs of its nodes, which can be no GPU.
  greedy:0 keeps the rules above.
- NICs and links between GPUs have no part in it, nor have tensor-parallel groups: here T neighbouring ranks
  are a group.

Choices where the rules meet the files: NUMA nodes without processors are no domain; the GPUs are those that
dtrain finds, also where a file has no device that mpibind would count; a task with more GPUs than one
computes on the first that is not another's.
"""
import collections
import csv
import itertools
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

SIZES = (1, 2, 4)
TIMEOUT_S = 60
# dt_path_quality() of topo/topo.c.
LINK_QUALITY = {"NVLink": 40000, "NVSwitch": 30000, "xGMI": 20000, "Xe Link": 10000}
PCIE_QUALITY = {"switch": 60, "switches": 50, "bridge": 40, "NUMA node": 30, "socket": 20, "system": 10}
COUNTED_MAX = 64
ROW = "{:21.21} {:>1} {:8} {:>7} {:>9} {:>5} {:23.23} {:>5} {:>5} {:5}"

HEADINGS = ("file", "T", "rules", "own GPU", "own cores", "NIC", "worst link", "pairs", "same", "right")

Task = collections.namedtuple("Task", "gpus cpus nic group")
Result = collections.namedtuple("Result", "own cores nics worst quality right tasks")


class LeftOut(Exception):
    """A file that the comparison cannot use, and why."""


def parse_cpus(text):
    cpus = set()
    for part in filter(None, (text or "").split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return frozenset(cpus)


def parse_mask(text):
    """hwloc's bitmap: words of 32 bits, the highest first, an empty one is zero."""
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


class Node:
    """One file: what dtrain says of it, and from the XML the order of its cores and GPUs."""

    def __init__(self, dtrain, path):
        self.dtrain, self.path = dtrain, path
        facts = self.ask()
        self.gpus, self.allowed = facts["gpus"], parse_cpus(facts["cpus"])
        self.numas = {n["numa"]: parse_cpus(n["cpus"]) for n in facts["numas"] if n["cpus"]}
        if not self.gpus:
            raise LeftOut("no GPU")
        if any(gpu["numa"] not in self.numas for gpu in self.gpus):
            raise LeftOut("a GPU's NUMA node has no processors in the file")
        self.links = {(g["index"], link["peer"]): link for g in self.gpus for link in g["links"]}
        self.read_order()
        if not all(self.cores_of(gpu["numa"]) for gpu in self.gpus):
            raise LeftOut("a GPU's NUMA node has no whole core")

    def ask(self, *options):
        command = [self.dtrain, "topo", "--file", self.path, "--json", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise LeftOut(f"dtrain topo took more than {TIMEOUT_S} s") from None
        if done.returncode:
            raise LeftOut(done.stderr.strip() or f"dtrain topo ended with {done.returncode}")
        return json.loads(done.stdout)

    def read_order(self):
        try:
            root = xml.etree.ElementTree.parse(self.path).getroot()
        except xml.etree.ElementTree.ParseError as error:
            raise LeftOut(f"not XML: {error}") from None
        if root.tag != "topology":
            raise LeftOut(f"its root is <{root.tag}>: expected hwloc's <topology>")
        kinds = collections.defaultdict(list)
        for thing in root.iter("object"):
            kinds[thing.get("type")].append(thing)
        cores = [parse_mask(core.get("cpuset")) & self.allowed for core in kinds["Core"]]
        self.cores = [core for core in cores if core] or [frozenset({cpu}) for cpu in sorted(self.allowed)]
        at = {device.get("pci_busid"): i for i, device in enumerate(kinds["PCIDev"])}
        cards = collections.defaultdict(list)
        for gpu in self.gpus:
            cards[gpu["pci"]].append(gpu["index"])
        self.cards = [cards[pci] for pci in sorted(cards, key=lambda pci: at.get(pci, len(at)))]

    def cards_of(self, numa):
        return [card for card in self.cards if self.gpus[card[0]]["numa"] == numa]

    def cores_of(self, numa):
        return [core for core in self.cores if core <= self.numas[numa]]


def shares(count, parts):
    return [count // parts + (i < count % parts) for i in range(parts)]


def cut(things, parts):
    """Consecutive shares of things, one a part; fewer things than parts: neighbours share one."""
    if len(things) < parts:
        return [[thing] for thing, times in zip(things, shares(parts, len(things))) for _ in range(times)]
    at, result = 0, []
    for share in shares(len(things), parts):
        result.append(things[at:at + share])
        at += share
    return result


def spread_tasks(node, count):
    domains = [numa for numa in node.numas if node.cards_of(numa)]
    for numa, inside in zip(domains, shares(count, len(domains))):
        if inside:
            yield from zip(cut(node.cards_of(numa), inside), cut(node.cores_of(numa), inside))


def spread_numas(node, count):
    for numas in cut(list(node.numas), count):
        yield ([card for numa in numas for card in node.cards_of(numa)],
               [core for numa in numas for core in node.cores_of(numa)])


def place_mpibind(node, count, size, greedy):
    rule = spread_numas if greedy and count < len(node.numas) else spread_tasks
    return [Task([gpu for card in cards for gpu in card], frozenset().union(*cores), None, rank // size)
            for rank, (cards, cores) in enumerate(rule(node, count))]


def place_dtrain(node, count, size):
    plan = node.ask("--tasks", str(count), "--tp", str(size))
    return [Task([] if task["gpu"] is None else [task["gpu"]], parse_cpus(task["cpus"]), task["nic"],
                 task["tp_group"]) for task in plan["tasks"]]


def used_gpus(tasks):
    """The one GPU that each task computes on; None: all of its are taken."""
    used = []
    for task in tasks:
        used.append(next((gpu for gpu in task.gpus if gpu not in used), None))
    return used


def link_quality(link):
    if link["kind"] in LINK_QUALITY:
        return LINK_QUALITY[link["kind"]] + 100 * min(link["count"], COUNTED_MAX)
    return PCIE_QUALITY.get(link["kind"], 0)


def link_words(link):
    return link["kind"] + (f" x{link['count']}" if link["count"] else "")


def pair_link(node, pair):
    if None in pair:
        return 0, "no GPU"
    return link_quality(node.links[pair]), link_words(node.links[pair])


def pair_links(node, tasks):
    """Of each group: the links of its pairs, as (quality, words)."""
    members = collections.defaultdict(list)
    for task, gpu in zip(tasks, used_gpus(tasks)):
        members[task.group].append(gpu)
    for gpus in members.values():
        yield [pair_link(node, pair) for pair in itertools.combinations(gpus, 2)]


def worst_words(groups):
    """The worst link of a group when all have the same, else how many groups have which."""
    counts = collections.Counter(min(group)[1] for group in groups if group)
    if len(counts) < 2:
        return next(iter(counts), "-")
    return " + ".join(f"{count}*{words}" for words, count in sorted(counts.items()))


def nearest_nics(node, gpu, locality):
    """From the table where it names any, nearest column first; else from dtrain's own list."""
    fact = locality.get((os.path.basename(node.path), node.gpus[gpu]["pci"]), {})
    for column, names in fact.items():
        if column.startswith("nics_") and names not in ("-", "", None):
            return names.replace("+", " ").split()
    return node.gpus[gpu]["nics"]


def is_own(node, task, tasks):
    alone = len(task.gpus) == 1 and sum(task.gpus[0] in other.gpus for other in tasks) == 1
    return alone and bool(task.cpus & node.numas[node.gpus[task.gpus[0]]["numa"]])


def is_local(node, task):
    return bool(task.gpus and task.cpus) and task.cpus <= node.numas[node.gpus[task.gpus[0]]["numa"]]


def is_right(node, tasks, locality):
    """By the table: every task has one GPU that is no other's, and only CPUs next to it. None: not in it."""
    facts = [locality.get((os.path.basename(node.path), gpu["pci"]), {}) for gpu in node.gpus]
    near = [parse_cpus(fact.get("cpus_os")) for fact in facts]
    if not all(near):
        return None
    return all(is_own(node, task, tasks) and task.cpus <= near[task.gpus[0]] for task in tasks)


def judge(node, tasks, locality):
    groups = list(pair_links(node, tasks))
    return Result(own=sum(is_own(node, task, tasks) for task in tasks),
                  cores=sum(is_local(node, task) for task in tasks),
                  nics=sum(task.nic in nearest_nics(node, task.gpus[0], locality)
                           for task in tasks if task.nic and task.gpus),
                  worst=worst_words(groups), quality=sum(link[0] for group in groups for link in group),
                  right=is_right(node, tasks, locality), tasks=tasks)


def same_tasks(node, result, other):
    """Tasks that both give the same GPU and the same cores, whatever the threads of these."""
    def key(task):
        return task.gpus, [core for core in node.cores if core & task.cpus]

    return sum(key(a) == key(b) for a, b in zip(result.tasks, other.tasks))


def print_row(node, size, rules, result, reference):
    count = len(result.tasks)
    has_nic = any(task.nic for task in result.tasks)
    pairs = f"{result.quality / reference.quality:.2f}" if reference.quality else "-"
    print(ROW.format(os.path.splitext(os.path.basename(node.path))[0], size, rules, f"{result.own}/{count}",
                     f"{result.cores}/{count}", f"{result.nics}/{count}" if has_nic else "none",
                     result.worst, pairs, f"{same_tasks(node, result, reference)}/{count}",
                     {True: "yes", False: "no", None: "?"}[result.right]).rstrip())


def print_case(node, size, results):
    """A row for each rules that place the tasks in another way than those before."""
    reference = results["dtrain"]
    is_same = same_tasks(node, results["mpibind"], reference) == len(reference.tasks)
    print_row(node, size, "both" if is_same else "dtrain", reference, reference)
    if not is_same:
        print_row(node, size, "mpibind", results["mpibind"], reference)
    if results["greedy:0"].tasks != results["mpibind"].tasks:
        print_row(node, size, "greedy:0", results["greedy:0"], reference)


def compare(node, size, locality):
    count = len(node.gpus)
    placed = {"dtrain": place_dtrain(node, count, size),
              "mpibind": place_mpibind(node, count, size, True),
              "greedy:0": place_mpibind(node, count, size, False)}
    results = {rules: judge(node, tasks, locality) for rules, tasks in placed.items()}
    print_case(node, size, results)
    return results


def is_complete(result):
    return result.own == result.cores == len(result.tasks)


def ratio_words(ratios):
    if not ratios:
        return "-"
    return f"{sum(ratios) / len(ratios):.2f} (lowest {min(ratios):.2f}, highest {max(ratios):.2f})"


def print_summary(cases):
    print(f"\n{len(cases)} cases (a file and a T):")
    for rules in ("dtrain", "mpibind", "greedy:0"):
        mine = [case[rules] for case in cases]
        judged = [result.right for result in mine if result.right is not None]
        ratios = [case[rules].quality / case["dtrain"].quality for case in cases if case["dtrain"].quality]
        print(f"  {rules:8} all tasks local {sum(map(is_complete, mine))}/{len(mine)}, "
              f"right {sum(judged)}/{len(judged)}, pairs {ratio_words(ratios)}")
    with_nic = sum(bool(task.nic) for case in cases for task in case["dtrain"].tasks)
    nearest = sum(case["dtrain"].nics for case in cases)
    print(f"  nearest NIC: dtrain {nearest} of {with_nic} tasks, mpibind none")


def read_locality(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", newline="") as lines:
        return {(row["file"], row["gpu_pci"]): row for row in csv.DictReader(lines, delimiter="\t")}


HEAD = """\
A task for each GPU, T neighbours in a tp group. both: dtrain and mpibind place all tasks alike, the
NIC apart; greedy:0 where it differs from mpibind's default.
own GPU     tasks with one GPU that is no other's, on a NUMA node of their cores
own cores   tasks with no core outside their GPU's NUMA node
NIC         tasks with a nearest one, of those of dtrain; mpibind gives none
worst link  inside a group; where groups differ n* says how many have which
pairs       quality of all pairs inside groups, dtrain's = 1.00
same        tasks with dtrain's GPU and cores
right       all tasks, by the table of localities; ?: a GPU that it does not place
"""


def main(dtrain, table, *files):
    locality, cases, left_out = read_locality(table), [], []
    print(HEAD)
    print(ROW.format(*HEADINGS))
    for path in files:
        try:
            node = Node(dtrain, path)
            sizes = [size for size in SIZES if len(node.gpus) % size == 0]
            cases += [compare(node, size, locality) for size in sizes]
        except LeftOut as why:
            left_out.append(f"  left out: {os.path.basename(path)}: {why}")
    print_summary(cases)
    for line in left_out:
        print(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
