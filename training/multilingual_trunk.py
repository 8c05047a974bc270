"""multilingual-e5-small for training: frozen layers, low-rank adapters in the upper ones, and a head on means of the last rows.

Weights come from the folder that `make setup` makes (4-bit blocks, see tools/convert_e5.py). Products run in bfloat16, which torch 2
does six times as fast as float32 on a core with AVX-512 BF16, and in float32 on others, where it would be three times as slow. The
names of what is trained are those of adapters.safetensors.
"""
import json
import math
import pathlib
import struct

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

LAYERS, WIDTH, HEADS = 12, 384, 12
KEPT = torch.bfloat16   # of states in files
HALF = KEPT if "avx512_bf16" in pathlib.Path("/proc/cpuinfo").read_text() else torch.float32
BLOCK = 18    # bytes of 32 weights: a factor in fp16, then 4 bits each
SPREAD = 20   # pooled rows of length 1 times this, so that weights are of common size; folded into the head when it is written
LINEARS = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value", "o": "attention.output.dense",
           "up": "intermediate.dense", "down": "output.dense"}
NORMS = {"n1": "attention.output.LayerNorm", "n2": "output.LayerNorm"}
SLIDING, STEP = 48, 16   # rows of a mean, and from one mean to the next; the first is a multiple of the second
WORDS = "embeddings.word_embeddings.weight"


def floats(blocks):
    """[rows, numbers] of rows of Q4_0 blocks."""
    b = np.ascontiguousarray(blocks).reshape(len(blocks), -1, BLOCK)
    factor = b[..., :2].copy().view("<f2").astype(np.float32)
    nibbles = b[..., 2:].astype(np.int16)
    both = np.concatenate([((nibbles & 15) - 8) * factor, ((nibbles >> 4) - 8) * factor], -1)
    return both.reshape(len(blocks), -1).astype(np.float32)


def tensors(folder):
    """By name; the word table stays in blocks."""
    raw = np.memmap(folder / "model.safetensors", np.uint8, "r")
    n = struct.unpack("<Q", raw[:8].tobytes())[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + n].tobytes()).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        body = raw[8 + n + first:8 + n + last]
        if entry["dtype"] == "F32":
            out[name] = torch.tensor(np.frombuffer(body.tobytes(), "<f4").reshape(entry["shape"]).copy())
        else:
            out[name] = body.reshape(entry["shape"]) if name == WORDS else torch.tensor(floats(body.reshape(entry["shape"])))
    return out


class Linear(nn.Module):
    """weight + scale * B A; without a rank the weight alone."""

    def __init__(self, t, name, rank, scale):
        super().__init__()
        weight, bias = t[f"{name}.weight"], t[f"{name}.bias"]
        self.register_buffer("w", weight.to(HALF))
        self.register_buffer("b", bias.to(HALF))
        self.rank, self.scale = rank, scale
        if rank:
            self.A = nn.Parameter(torch.randn(rank, weight.shape[1]) / math.sqrt(weight.shape[1]))
            self.B = nn.Parameter(torch.zeros(weight.shape[0], rank))

    def forward(self, x):
        y = F.linear(x, self.w, self.b)
        return y + F.linear(F.linear(x, self.A.to(HALF)), (self.scale * self.B).to(HALF)) if self.rank else y


class Layer(nn.Module):
    def __init__(self, t, number, rank=0, scale=0.0):
        super().__init__()
        place = f"encoder.layer.{number}."
        for short, name in LINEARS.items():
            setattr(self, short, Linear(t, place + name, rank, scale))
        for short, name in NORMS.items():
            self.register_buffer(f"{short}w", t[f"{place}{name}.weight"].to(HALF))
            self.register_buffer(f"{short}b", t[f"{place}{name}.bias"].to(HALF))

    def forward(self, x, mask):
        texts, n, _ = x.shape
        one = WIDTH // HEADS
        apart = lambda y: y.view(texts, n, HEADS, one).transpose(1, 2).reshape(texts * HEADS, n, one)  # noqa: E731
        scores = torch.bmm(apart(self.q(x)) * one ** -0.5, apart(self.k(x)).transpose(1, 2)).view(texts, HEADS, n, n)
        p = torch.softmax(scores + mask, -1).view(texts * HEADS, n, n)
        mixed = torch.bmm(p, apart(self.v(x))).view(texts, HEADS, n, one).transpose(1, 2).reshape(texts, n, WIDTH)
        x = F.layer_norm(x + self.o(mixed), (WIDTH,), self.n1w, self.n1b, 1e-12)
        return F.layer_norm(x + self.down(F.gelu(self.up(x))), (WIDTH,), self.n2w, self.n2b, 1e-12)


def mask_of(real):
    return torch.zeros(real.shape, dtype=HALF).masked_fill(~real, float("-inf"))[:, None, None, :]


class Lower(nn.Module):
    """Frozen: ids [texts, tokens] to rows behind `layers` layers."""

    def __init__(self, t, layers):
        super().__init__()
        self.t, self.layers = t, nn.ModuleList(Layer(t, i) for i in range(layers))

    def forward(self, ids, real):
        some, place = np.unique(ids.numpy(), return_inverse=True)
        words = torch.tensor(floats(self.t[WORDS][some]))[torch.tensor(place).reshape(ids.shape)]
        x = words + self.t["embeddings.position_embeddings.weight"][:ids.shape[1]] + self.t["embeddings.token_type_embeddings.weight"][0]
        x = F.layer_norm(x, (WIDTH,), self.t["embeddings.LayerNorm.weight"], self.t["embeddings.LayerNorm.bias"], 1e-12).to(HALF)
        mask = mask_of(real)
        for layer in self.layers:
            x = layer(x, mask)
        return x


def sliding_means(x, real):
    """(means [texts, means, WIDTH] of SLIDING rows, each STEP behind the last one, up to the first that holds the last row; which
    of them a text has)"""
    texts, n, _ = x.shape
    each, blocks = SLIDING // STEP, max(-(-n // STEP), SLIDING // STEP)
    x = F.pad(x * real[..., None], (0, 0, 0, blocks * STEP - n)).view(texts, blocks, STEP, WIDTH).sum(2)
    count = F.pad(real.float(), (0, blocks * STEP - n)).view(texts, blocks, STEP).sum(2)
    sums, counts = (sum(t[:, k:blocks - each + 1 + k] for k in range(each)) for t in (x, count))
    last = torch.clamp(-(-real.sum(1) // STEP) - each, min=0)
    return sums / counts.clamp(min=1)[..., None], torch.arange(blocks - each + 1)[None] <= last[:, None]


class Upper(nn.Module):
    """The layers from `first` on with adapters, and logits [texts, 2] of the mean that is most like an attack."""

    def __init__(self, t, first, rank, alpha):
        super().__init__()
        self.first = first
        self.layers = nn.ModuleList(Layer(t, i, rank, alpha / rank) for i in range(first, LAYERS))
        self.out = nn.Linear(WIDTH, 2)

    def forward(self, x, real):
        mask = mask_of(real)
        for layer in self.layers:
            x = layer(x, mask)
        means, there = sliding_means(x.float(), real)
        z = self.out(F.normalize(means, dim=-1) * SPREAD)
        best = (z[..., 1] - z[..., 0]).masked_fill(~there, float("-inf")).argmax(1)
        return z[torch.arange(len(z)), best]

    def parts(self):
        """(adapters, head)"""
        named = list(self.named_parameters())
        return [p for n, p in named if not n.startswith("out.")], [p for n, p in named if n.startswith("out.")]

    def export(self):
        """What adapters.safetensors holds."""
        out = {"jailbreak.out.weight": self.out.weight.detach() * SPREAD, "jailbreak.out.bias": self.out.bias.detach()}
        for number, layer in enumerate(self.layers, self.first):
            for short, name in LINEARS.items():
                for pair in "AB":
                    out[f"bert.encoder.layer.{number}.{name}.lora_{pair}.weight"] = getattr(getattr(layer, short), pair).detach()
        return out

    def take(self, tensors):
        """From what `export` has given."""
        with torch.no_grad():
            self.out.weight.copy_(tensors["jailbreak.out.weight"] / SPREAD)
            self.out.bias.copy_(tensors["jailbreak.out.bias"])
            for number, layer in enumerate(self.layers, self.first):
                for short, name in LINEARS.items():
                    for pair in "AB":
                        getattr(getattr(layer, short), pair).copy_(tensors[f"bert.encoder.layer.{number}.{name}.lora_{pair}.weight"])
