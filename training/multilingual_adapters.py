"""Trains low-rank adapters in the upper layers of multilingual-e5-small and a head on means of their last rows. Which texts, and what
becomes of the answers, is multilingual_guard.py's.

Each text is one window. The frozen layers' states are computed once and kept in a file. `choices` below are a task's CHOICES: first,
rank, alpha, rate, epochs, warmup, decay, smoothing, batch (tokens, with padding), unsure, again, tokens (of a window), average, seed.
Needs torch 2.
"""
import functools
import hashlib
import json

import numpy as np
import torch
from tokenizers import Tokenizer

import multilingual_heads as heads
import multilingual_trunk as trunk


class Texts:
    """Token ids, and the states behind the frozen layers, kept in a file."""

    def __init__(self, texts, work, choices):
        tok = Tokenizer.from_file(str(heads.TRUNK / "tokenizer.json"))
        tok.no_truncation()
        tok.no_padding()
        around = tok.encode("").ids
        self.ids = [around[:-1] + e.ids[:choices["tokens"]] + around[-1:] for e in tok.encode_batch(texts, add_special_tokens=False)]
        self.n = np.array([len(i) for i in self.ids])
        self.ends = np.cumsum(self.n)
        self.work, self.first, self.size = work, choices["first"], choices["batch"]

    @functools.cached_property
    def states(self):
        key = hashlib.sha256(json.dumps([self.ids, self.first]).encode()).hexdigest()[:12]
        path = self.work / f"states-{key}.npy"
        if not path.exists():
            np.save(self.work / f"part-{key}.npy", self.read(trunk.Lower(trunk.tensors(heads.TRUNK), self.first).eval()))
            (self.work / f"part-{key}.npy").replace(path)
        return np.load(path, mmap_mode="r")

    def rows(self, i):
        return self.states[self.ends[i] - self.n[i]:self.ends[i]]

    def batches(self, mine, size):
        """Lists of rows of about one length, of at most `size` tokens with padding."""
        out = [[]]
        for i in mine[np.argsort(self.n[mine], kind="stable")]:
            if out[-1] and self.n[i] * (len(out[-1]) + 1) > size:
                out.append([])
            out[-1].append(i)
        return out

    def read(self, lower):
        out = np.empty((self.ends[-1], trunk.WIDTH), np.int16)
        with torch.no_grad():
            for batch in self.batches(np.arange(len(self.n)), self.size):
                real = self.real(batch)
                ids = torch.ones(real.shape, dtype=torch.long)
                for j, i in enumerate(batch):
                    ids[j, :self.n[i]] = torch.tensor(self.ids[i])
                x = lower(ids, real).to(trunk.KEPT).view(torch.int16).numpy()
                for j, i in enumerate(batch):
                    out[self.ends[i] - self.n[i]:self.ends[i]] = x[j, :self.n[i]]
        return out

    def real(self, batch):
        return torch.arange(int(self.n[batch].max()))[None] < torch.tensor(self.n[batch])[:, None]

    def load(self, batch):
        """(states, which are real) of a batch."""
        real = self.real(batch)
        x = torch.zeros(*real.shape, trunk.WIDTH, dtype=trunk.HALF)
        for j, i in enumerate(batch):
            x[j, :self.n[i]] = torch.from_numpy(np.array(self.rows(i))).view(trunk.KEPT).to(trunk.HALF)
        return x, real


class Joined(Texts):
    """Lists of texts as one, each with its own file of states."""

    def __init__(self, parts):
        self.parts, self.n, self.size = parts, np.concatenate([p.n for p in parts]), parts[0].size
        self.starts = np.cumsum([0, *(len(p.n) for p in parts)])

    def rows(self, i):
        part = int(np.searchsorted(self.starts, i, side="right")) - 1
        return self.parts[part].rows(i - self.starts[part])


def model_of(choices):
    return trunk.Upper(trunk.tensors(heads.TRUNK), choices["first"], choices["rank"], choices["alpha"])


def epoch(texts, mine, rng):
    """Batches of texts of like length, in a random order."""
    order = rng.permutation(mine)
    batches = [b for at in range(0, len(order), 2400) for b in texts.batches(order[at:at + 2400], texts.size)]
    rng.shuffle(batches)
    return batches


def train(texts, y, own, mine, choices, model=None):
    """Adapters and head from the rows `mine`, which weigh `own`; what counts is their running mean over the later part of the training.
    A model that is given goes on.

    After the first epoch, rows that were judged right within `unsure` are drawn with the chance `again` and weigh more in its place:
    the same gradient on the mean, of fewer texts."""
    torch.manual_seed(choices["seed"])
    rng = np.random.default_rng(choices["seed"])
    model = (model or model_of(choices)).train()
    adapters, head = model.parts()
    optimizer = torch.optim.AdamW([{"params": adapters, "lr": choices["rate"], "weight_decay": choices["decay"]},
                                   {"params": head, "lr": 2 * choices["rate"], "weight_decay": 0.01}], betas=(0.9, 0.98))
    rates = [part["lr"] for part in optimizer.param_groups]
    total, done, mean, chance = texts.n[mine].sum() * choices["epochs"], 0.0, None, np.ones(len(y))
    while done < total:
        drawn = chance.copy()
        for batch in epoch(texts, mine[rng.random(len(mine)) < drawn[mine]], rng):
            if done >= total:
                break
            z, right = model(*texts.load(batch)), torch.tensor(y[batch])
            loss = torch.nn.functional.cross_entropy(z, right, reduction="none", label_smoothing=choices["smoothing"])
            optimizer.zero_grad(set_to_none=True)
            (loss * torch.tensor(own[batch] / drawn[batch] * drawn[mine].mean(), dtype=torch.float32)).mean().backward()
            torch.nn.utils.clip_grad_norm_(adapters + head, 1.0)
            for part, rate in zip(optimizer.param_groups, rates):
                part["lr"] = rate * min(1, done / total / choices["warmup"]) * max(0.02, 1 - done / total)
            optimizer.step()
            off = 1 - z.detach().float().softmax(-1)[torch.arange(len(batch)), right].numpy()
            chance[batch] = np.where(off > choices["unsure"], 1.0, choices["again"])
            done += (texts.n[batch] / drawn[batch]).sum()
            if done > 0.4 * total:
                mean = averaged(mean, adapters + head, choices["average"])
    with torch.no_grad():
        for p, m in zip(adapters + head, mean):
            p.copy_(m)
    return model.eval()


def averaged(mean, parameters, share):
    if mean is None:
        return [p.detach().clone() for p in parameters]
    for m, p in zip(mean, parameters):
        m.lerp_(p.detach(), share)
    return mean


def between(first, second, share):
    """The second model, with `share` of its own weights and the rest of the first one's."""
    with torch.no_grad():
        for name, of in first.named_parameters():
            second.get_parameter(name).lerp_(of, 1 - share)
    return second


def ask(model, texts, mine):
    """Log odds of the rows `mine`."""
    z = np.full(len(texts.n), np.nan)
    with torch.no_grad():
        for batch in texts.batches(mine, 2 * texts.size):
            x = model(*texts.load(batch)).numpy()
            z[batch] = x[:, 1] - x[:, 0]
    return z[mine]


def trained(model):
    """Its adapters and head by name, for a file of heads.save."""
    return {k: v for k, v in model.state_dict().items() if k.startswith("out.") or k.endswith((".A", ".B"))}


def load(path, choices):
    """What was saved of `trained`."""
    model = model_of(choices)
    model.load_state_dict(heads.load(path), strict=False)
    return model.eval()
