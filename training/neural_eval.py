"""The neural's answers to texts, and what files and figures are made of them. Reads any file it is told to: it trains nothing."""
import collections
import hashlib
import json
import pathlib
import pickle

import numpy as np
import torch

import fit
import pii_templates
import trunk

TYPES = pii_templates.TYPES


class Reader:
    """Answers of a merged model, in batches of windows of similar length. With `cache` (a folder) they are kept, without
    the bias of the jailbreak head, which calibration moves."""

    def __init__(self, model, tok, tokens=4096, cache=None):
        self.model, self.tok, self.tokens, self.cache = model, tok, tokens, cache
        own = sorted((n, t) for n, t in model.export().items() if n != "jailbreak.out.bias")
        self.key = hashlib.sha256(b"".join(t.to(torch.bfloat16).float().numpy().tobytes() for _, t in own)).hexdigest()
        bias = model.heads["jailbreak"].out.bias.detach()
        self.bias = float(bias[1] - bias[0])

    def read(self, texts, token_head=False):
        out = None
        if self.cache:
            text_key = hashlib.sha256("\0".join(texts).encode()).hexdigest()
            path = self.cache / f"{self.key[:16]}-{text_key[:24]}-{int(token_head)}.pickle"
            out = pickle.loads(path.read_bytes()) if path.exists() else None
        if out is None:
            out = self._read(texts, token_head)
            if self.cache:
                self.cache.mkdir(parents=True, exist_ok=True)
                path.write_bytes(pickle.dumps(out))
        for o in out:
            o["jailbreak"] = o["jailbreak"] + self.bias
        return out

    def _read(self, texts, token_head):
        """Per text a dict: domain [14] (mean logits over windows), jailbreak (margins of windows), tokens (n), and with
        `token_head` the types' probabilities [n, 18] of each token (O first) and its offsets, B's share beside."""
        encoded = trunk.encode(self.tok, texts)
        windows = [(i, a, b) for i, (ids, _) in enumerate(encoded) for a, b in trunk.spans(len(ids))]
        out = [{"domain": 0.0, "jailbreak": [], "tokens": len(ids), "offsets": off, "p": np.zeros((len(ids), len(TYPES) + 1), np.float32),
                "begin": np.zeros(len(ids), np.float32), "ids": ids, "best": np.full(len(ids), -1)} for ids, off in encoded]
        windows.sort(key=lambda w: w[2] - w[1])
        at = 0
        while at < len(windows):
            end = at + 1
            while end < len(windows) and (end - at + 1) * (windows[end][2] - windows[end][1] + 2) <= self.tokens:
                end += 1
            self._batch(windows[at:end], encoded, out, token_head)
            at = end
        for o in out:
            o["domain"] = o["domain"] / max(sum(o.pop("n", [1])), 1)
            o["jailbreak"] = np.array([m for _, m in sorted(o["jailbreak"])])
        return out

    @torch.no_grad()
    def _batch(self, windows, encoded, out, token_head):
        width = max(b - a for _, a, b in windows) + 2
        ids = np.zeros((len(windows), width), np.int64)
        real = np.zeros((len(windows), width), np.float32)
        for k, (i, a, b) in enumerate(windows):
            w = trunk.wrap(encoded[i][0][a:b])
            ids[k, :len(w)], real[k, :len(w)] = w, 1
        ids, real = torch.from_numpy(ids), torch.from_numpy(real)
        hidden = self.model.hidden(ids, real)
        domain = self.model.heads["domain"](hidden, real).numpy()
        attack = self.model.heads["jailbreak"](hidden, real).numpy()
        p = torch.softmax(self.model.heads["pii"](hidden, real), -1).numpy() if token_head else None
        for k, (i, a, b) in enumerate(windows):
            o = out[i]
            o["domain"] = o["domain"] + domain[k].astype(np.float64) * max(b - a, 1)
            o.setdefault("n", []).append(max(b - a, 1))
            o["jailbreak"].append((a, float(attack[k, 1] - attack[k, 0]) - self.bias))
            if token_head:
                q = p[k, 1:1 + b - a]
                near = np.minimum(np.arange(b - a), np.arange(b - a)[::-1])  # from the window's edge
                take = np.nonzero(near > o["best"][a:b])[0]
                o["best"][a + take] = near[take]
                o["p"][a + take, 0] = q[take, 0]
                o["p"][a + take, 1:] = q[take, 1::2] + q[take, 2::2]
                o["begin"][a + take] = q[take, 1::2].sum(1)


def spans_of(answer, pieces, thresholds):
    """(start, end, type, score): pieces of a word decided together, neighbours of one type joined unless a B stands between."""
    n, words, at = answer["tokens"], [], 0
    while at < n:
        end = at + 1
        while end < n and pieces[answer["ids"][end]]:
            end += 1
        words.append((at, end))
        at = end
    out = []
    for a, b in words:
        p = answer["p"][a:b].mean(0)
        kind = int(p.argmax())
        if kind == 0:
            out.append(None)
            continue
        begins = answer["begin"][a] > p[kind] / 2
        start, stop = int(answer["offsets"][a, 0]), int(answer["offsets"][b - 1, 1])
        last = out[-1] if out else None
        if last and last[2] == kind and not begins:
            out[-1] = (last[0], stop, kind, last[3] + [p[kind]])
            continue
        out.append((start, stop, kind, [p[kind]]))
    found = [(s, e, TYPES[k - 1], float(np.mean(ps))) for s, e, k, ps in (o for o in out if o)]
    return [f for f in found if f[3] >= thresholds.get(f[2], 0.5)]


def overlaps(a, b):
    return a[0] < b[1] and b[0] < a[1]


def span_scores(rows, found, kinds=None):
    """Partial matches of one type: per type (gold, found, gold that is hit, found that hits)."""
    out = collections.defaultdict(lambda: [0, 0, 0, 0])
    for gold, mine in zip(rows, found):
        for g in gold:
            out[g[2]][0] += 1
            out[g[2]][2] += any(overlaps(g, m) and m[2] == g[2] for m in mine)
        for m in mine:
            out[m[2]][1] += 1
            out[m[2]][3] += any(overlaps(g, m) and m[2] == g[2] for g in gold)
    return {k: v for k, v in sorted(out.items()) if kinds is None or k in kinds}


def f1(counts):
    gold, found, hit, good = counts
    recall, precision = hit / gold if gold else 0.0, good / found if found else 0.0
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


def micro(scores):
    return f1([sum(v[i] for v in scores.values()) for i in range(4)])


def interval(right, n):
    """Wilson's 95 % interval, in percent."""
    z, p = 1.96, right / n
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return round(100 * (middle - half), 1), round(100 * (middle + half), 1)


def log_p(logits, temperature=1.0):
    return np.log(fit.probabilities(logits, temperature) + 1e-12)


def rows_of(path):
    return [json.loads(line) for line in pathlib.Path(path).open(encoding="utf-8")]
