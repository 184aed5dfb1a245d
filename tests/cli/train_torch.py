"""The model of examples/train in PyTorch: its loss and gradients from the same weights and data.

Arguments: what train_dump printed (names and sizes), and the file that it wrote. A line for each comparison:
"name largest-difference".
"""
import sys

import torch
from torch.nn import functional

HEADS = 4
EPSILON = 1e-5


def read(index, path):
    values = {}
    with open(index) as names, open(path, "rb") as data:
        for line in names:
            name, rows, cols = line.split()
            count = int(rows) * int(cols)
            raw = torch.frombuffer(bytearray(data.read(8 * count)), dtype=torch.float64)
            values[name] = raw.reshape(int(rows), int(cols)).clone()
    return values


def norm(w, name, x):
    return functional.layer_norm(x, x.shape[-1:], w[name + ".gain"][0], w[name + ".bias"][0], EPSILON)


def linear(w, name, x):
    return x @ w[name + ".weight"] + w[name + ".bias"][0]


def attention(w, layer, x):
    batch, seq, hidden = x.shape
    qkv = linear(w, layer + ".qkv", x).reshape(batch, seq, HEADS, 3, hidden // HEADS)
    q, k, v = (qkv[:, :, :, i].transpose(1, 2) for i in range(3))
    scores = q @ k.transpose(2, 3) / (hidden // HEADS) ** 0.5
    hidden_future = torch.ones(seq, seq, dtype=torch.bool).triu(1)
    mixed = torch.softmax(scores.masked_fill(hidden_future, float("-inf")), dim=-1) @ v
    return linear(w, layer + ".projection", mixed.transpose(1, 2).reshape(batch, seq, hidden))


def gelu(x):
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def loss_of(w, tokens, labels):
    x = w["embedding.tokens"][tokens] + w["embedding.positions"]
    for i in range(sum(name.endswith("qkv.weight") and name.startswith("layer.") for name in w)):
        layer = "layer.%d" % i
        x = x + attention(w, layer, norm(w, layer + ".norm1", x))
        x = x + linear(w, layer + ".narrow", gelu(linear(w, layer + ".wide", norm(w, layer + ".norm2", x))))
    logits = norm(w, "head.norm", x) @ w["head.weight"].T
    return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


def main():
    dump = read(*sys.argv[1:])
    tokens, labels = dump.pop("tokens").long(), dump.pop("labels").long()
    weights = {name: dump[name].requires_grad_() for name in dump if "gradient." + name in dump}
    loss = loss_of(weights, tokens, labels)
    loss.backward()
    print("loss %.3e" % abs(loss.item() - dump["loss"].item()))
    for name, weight in weights.items():
        difference = (weight.grad - dump["gradient." + name]).abs().max()
        print("%s %.3e" % (name, difference / (1 + weight.grad.abs().max())))


main()
