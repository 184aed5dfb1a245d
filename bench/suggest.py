"""Predicted against published: see suggest.sh, which runs this."""

import json
import math
import subprocess
import sys

# name, heads, hidden, layers, tp, pp, GPUs, batch, published TFLOP/s a GPU
RUNS = [
    ("1.7B", 24, 2304, 24, 1, 1, 32, 512, 137),
    ("3.6B", 32, 3072, 30, 2, 1, 64, 512, 138),
    ("7.5B", 32, 4096, 36, 4, 1, 128, 512, 142),
    ("18.4B", 48, 6144, 40, 8, 1, 256, 1024, 135),
    ("39.1B", 64, 8192, 48, 8, 2, 512, 1536, 138),
    ("76.1B", 80, 10240, 60, 8, 4, 1024, 1792, 140),
    ("145.6B", 96, 12288, 80, 8, 8, 1536, 2304, 148),
    ("310.1B", 128, 16384, 96, 8, 16, 1920, 2160, 155),
    ("529.6B", 128, 20480, 105, 8, 35, 2520, 2520, 163),
    ("1008.0B", 160, 25600, 128, 8, 64, 3072, 3072, 163),
]
GPUS_PER_NODE = 8
AS_PUBLISHED = ["--plain-attention", "--recompute", "full", "--zero", "0", "--sequence-parallel", "off"]


def suggest(dtrain, run, *options):
    """All layouts that fit, fastest first."""
    _, heads, hidden, layers, _, _, gpus, batch, _ = run
    shape = ["--layers", layers, "--hidden", hidden, "--heads", heads, "--seq", 2048, "--vocab", 51200]
    nodes = ["--machine", "dgx-a100", "--nodes", gpus // GPUS_PER_NODE, "--batch", batch]
    command = [dtrain, "suggest", "--json", "--top", 10000, *nodes, *shape, *AS_PUBLISHED, *options]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"suggest.py: {run[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)["layouts"]


def place(layouts, tp, pp):
    for number, layout in enumerate(layouts, 1):
        if (layout["tp"], layout["pp"]) == (tp, pp):
            return f"{number} of {len(layouts)}"
    return f"none of {len(layouts)}"


def main():
    ratios = []
    print(f"{'model':8} {'tp':>3} {'pp':>3} {'GPUs':>5} {'mb':>3} {'v':>3} {'predicted':>9} {'published':>9}"
          f" {'ratio':>6}  {'place':10}  first: tp pp TFLOP/s")
    for run in RUNS:
        name, _, _, _, tp, pp, gpus, _, published = run
        best = suggest(sys.argv[1], run, "--tp", tp, "--pp", pp)[0]
        layouts = suggest(sys.argv[1], run)
        first = layouts[0]
        ratio = best["hardware_tflops"] / published
        ratios.append((ratio, name))
        print(f"{name:8} {tp:3} {pp:3} {gpus:5} {best['microbatch']:3} {best['interleave']:3}"
              f" {best['hardware_tflops']:9.1f} {published:9} {ratio:6.3f}  {place(layouts, tp, pp):10} "
              f" {first['tp']:9} {first['pp']:2} {first['hardware_tflops']:7.1f}")
    mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
    worst = max(ratios, key=lambda pair: abs(math.log(pair[0])))
    print(f"geometric mean of the ratios {mean:.3f}, the worst {worst[0]:.3f} ({worst[1]})")


if __name__ == "__main__":
    main()
