"""examples/train's model in PyTorch, one thread a process, DistributedDataParallel over gloo where there are
several: a peer of bench/train.sh. Weights and batches are train's, so the losses are."""
import argparse
import contextlib
import math
import os
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

VOCABULARY = 256
DEVIATION = 0.02
MASK = (1 << 64) - 1


def mix(x):
    """The finaliser of splitmix64, of an array of uint64."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(seed, stream, index):
    """train's: a function of the three only; index is an array of uint64."""
    key = mix(np.array([seed & MASK], dtype=np.uint64)) ^ np.uint64(stream & MASK)
    return mix(mix(key) ^ index)


def uniform(bits):
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normal(seed, stream, count):
    index = np.arange(count, dtype=np.uint64) * np.uint64(2)
    radius = np.sqrt(-2 * np.log(uniform(random_bits(seed, stream, index))))
    return radius * np.cos(2 * math.pi * uniform(random_bits(seed, stream, index + np.uint64(1))))


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.projection = nn.Linear(hidden, hidden)
        self.norm2 = nn.LayerNorm(hidden)
        self.wide = nn.Linear(hidden, 4 * hidden)
        self.narrow = nn.Linear(4 * hidden, hidden)

    def attention(self, x, mask):
        batch, seq, hidden = x.shape
        qkv = self.qkv(x).view(batch, seq, self.heads, 3, hidden // self.heads).permute(3, 0, 2, 1, 4)
        query, key, value = qkv.unbind(0)
        scores = query @ key.transpose(-2, -1) * (hidden // self.heads) ** -0.5
        mixed = F.softmax(scores + mask, dim=-1) @ value
        return self.projection(mixed.transpose(1, 2).reshape(batch, seq, hidden))

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    """Parameters in train's order."""

    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, options.hidden)
        self.positions = nn.Parameter(torch.empty(options.seq, options.hidden))
        self.layers = nn.ModuleList(Layer(options.hidden, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.hidden)
        self.head = nn.Linear(options.hidden, VOCABULARY, bias=False)
        self.register_buffer("mask", torch.full((options.seq, options.seq), -math.inf).triu(1))

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.head(self.norm(x))

    def ordered(self):
        """(tensor, does train keep it transposed, deviation), as train numbers them."""
        deviation = DEVIATION / math.sqrt(2 * len(self.layers))
        yield self.tokens.weight, False, DEVIATION
        yield self.positions, False, DEVIATION
        for layer in self.layers:
            yield from ((p, False, None) for p in layer.norm1.parameters())
            yield layer.qkv.weight, True, DEVIATION
            yield layer.qkv.bias, False, 0
            yield layer.projection.weight, True, deviation
            yield layer.projection.bias, False, 0
            yield from ((p, False, None) for p in layer.norm2.parameters())
            yield layer.wide.weight, True, DEVIATION
            yield layer.wide.bias, False, 0
            yield layer.narrow.weight, True, deviation
            yield layer.narrow.bias, False, 0
        yield from ((p, False, None) for p in self.norm.parameters())
        yield self.head.weight, False, DEVIATION

    @torch.no_grad()
    def initialise(self, seed):
        """A norm's gain is 1 and its bias 0 already, deviation None."""
        for index, (tensor, transposed, deviation) in enumerate(self.ordered()):
            if deviation is None:
                continue
            values = torch.from_numpy((deviation * normal(seed, index, tensor.numel())).astype(np.float32))
            tensor.copy_(values.view(tensor.shape[::-1]).t() if transposed else values.view(tensor.shape))


def draw(text, options, step, first, count):
    """Tokens and labels of sequences first .. first + count - 1 of a step."""
    key = int(random_bits(options.seed, MASK, np.array([step], dtype=np.uint64))[0])
    index = np.arange(first, first + count, dtype=np.uint64)
    starts = random_bits(key, 0, index) % np.uint64(len(text) - options.seq)
    rows = np.stack([text[s : s + options.seq + 1] for s in starts.astype(np.int64)]).astype(np.int64)
    return torch.from_numpy(rows[:, :-1].copy()), torch.from_numpy(rows[:, 1:].copy())


def train_step(model, optimizer, text, options, step, rank, ranks):
    """The mean loss of this rank's share."""
    count = options.batch // ranks // options.microbatches
    total = 0.0
    optimizer.zero_grad()
    for i in range(options.microbatches):
        tokens, labels = draw(text, options, step, (rank * options.microbatches + i) * count, count)
        more = ranks > 1 and i < options.microbatches - 1
        with model.no_sync() if more else contextlib.nullcontext():
            logits = model(tokens)
            loss = F.cross_entropy(logits.view(-1, VOCABULARY), labels.view(-1)) / options.microbatches
            loss.backward()
        total += loss.item()
    optimizer.step()
    return total


def make_optimizer(model):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=0.001, betas=(0.9, 0.95), eps=1e-8, foreach=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="/usr/share/common-licenses/GPL-3")
    parser.add_argument("--rendezvous", default="", help="a file that is not there; needed by several ranks")
    sizes = {"layers": 4, "hidden": 64, "heads": 8, "seq": 64, "batch": 16, "microbatches": 4, "steps": 200}
    for name, value in {**sizes, "seed": 1}.items():
        parser.add_argument("--" + name, type=int, default=value)
    return parser.parse_args()


def main():
    options = parse()
    rank, ranks = int(os.environ.get("SLURM_PROCID", 0)), int(os.environ.get("SLURM_NTASKS", 1))
    torch.set_num_threads(1)
    if ranks > 1:
        method = "file://" + options.rendezvous
        dist.init_process_group("gloo", init_method=method, rank=rank, world_size=ranks)
    with open(options.data, "rb") as file:
        text = np.frombuffer(file.read(), dtype=np.uint8)
    model = Model(options)
    model.initialise(options.seed)
    optimizer = make_optimizer(model)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    start = time.monotonic()
    for step in range(1, options.steps + 1):
        share = train_step(model, optimizer, text, options, step, rank, ranks)
        loss = torch.tensor([share], dtype=torch.float64)
        if ranks > 1:
            dist.all_reduce(loss)
        if rank == 0:
            print(f"step {step} loss {loss.item() / ranks:.8f}", flush=True)
    if rank == 0:
        rate = options.steps * options.batch * options.seq / (time.monotonic() - start)
        print(f"torch_train: {rate:.0f} tokens/s")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
