"""Heads on the frozen vectors of multilingual-e5-small, and the files of models/neural-multilingual.

The domain head is multilingual_domain.py's, the guard's, which reads adapted layers, multilingual_guard.py's, that for personal data
pii_heads.py's; each leaves the others in the folder as they are.
"""
import collections
import hashlib
import json
import pathlib
import struct

import numpy as np
import torch

import data
import jailbreak_data as jd
import multilingual_rows as mr

HERE = pathlib.Path(__file__).resolve().parent
MODEL, TRUNK = HERE.parent / "models" / "neural-multilingual", HERE.parent / "models" / "multilingual-e5-small"
CHOICES = {"judged": 3.0, "seed": 7, "batch": 384}
MAPPING = {"domain": ("category_mapping.json", "category_to_idx", "idx_to_category", data.LABELS),
           "jailbreak": ("jailbreak_type_mapping.json", "label_to_idx", "idx_to_label", jd.LABELS)}


def is_judged(row):
    """What these heads are asked about: other scripts, and other languages than English."""
    return row.foreign or row.lang not in ("en", "")


def weights(rows, families):
    """Families weigh by the root of their size, texts that these heads are for more than others."""
    count = collections.Counter(families)
    w = np.array([r.weight ** 0.5 / count[f] ** 0.5 * (CHOICES["judged"] if is_judged(r) else 1.0) for r, f in zip(rows, families)])
    y = np.array([r.label for r in rows])
    for label in set(y.tolist()):
        w[y == label] /= w[y == label].sum()
    return w * len(rows) / len(set(y.tolist()))


class Head(torch.nn.Module):
    def __init__(self, labels, hidden, drop=0.0):
        super().__init__()
        self.drop = drop
        self.dense = torch.nn.Linear(384, hidden) if hidden else None
        self.out = torch.nn.Linear(hidden or 384, labels)

    def forward(self, x):
        return self.out(self.dropped(torch.nn.functional.gelu(self.dense(self.dropped(x))))) if self.dense else self.out(x)

    def dropped(self, x):
        return torch.nn.functional.dropout(x, self.drop) if self.drop and self.training else x


def train(x, y, w, labels, form):
    """A head on vectors of length 1, which are spread by 20 so that weights are of common size; the factor is folded into it."""
    torch.manual_seed(CHOICES["seed"])
    torch.set_num_threads(1)
    x, y, w = torch.tensor(x) * 20, torch.tensor(y), torch.tensor(w, dtype=torch.float32)
    head = Head(labels, form["hidden"], form.get("drop", 0.0))
    steps, size = form["steps"], CHOICES["batch"]
    optimizer = torch.optim.AdamW(head.parameters(), lr=3e-3 if form["hidden"] else 2e-2, weight_decay=form["decay"] * 30)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3 if form["hidden"] else 2e-2, total_steps=steps)
    order = torch.randperm(len(x))
    for step in range(steps):
        at = order[torch.arange(step * size, (step + 1) * size) % len(x)]
        loss = (torch.nn.functional.cross_entropy(head(x[at]), y[at], reduction="none", label_smoothing=0.02) * w[at]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
    with torch.no_grad():
        (head.dense or head.out).weight *= 20
    return head.eval()


def logits(head, x):
    with torch.no_grad():
        return head(torch.tensor(x)).numpy()


class Task:
    def __init__(self, rows, x):
        self.rows, self.x = rows, x
        self.y = np.array([r.label for r in rows])
        self.part = [mr.family(r) for r in rows]              # what is left out together
        self.family = [mr.counted(f) for f in self.part]      # what counts as much as any other in a rate
        self.lang = np.array([r.lang for r in rows])
        self.foreign = np.array([r.foreign for r in rows])
        self.judged = np.array([is_judged(r) for r in rows])
        self.w = weights(rows, self.part)


def save(path, tensors):
    """Safetensors, bfloat16."""
    header, body = {}, b""
    for name, t in sorted(tensors.items()):
        bits = np.ascontiguousarray(t.detach().numpy(), np.float32).view(np.uint32)
        raw = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": "BF16", "shape": list(t.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def load(path):
    """Safetensors in bfloat16, as `save` writes them."""
    raw = path.read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    out = {}
    for name, entry in json.loads(raw[8:8 + n]).items():
        first, last = entry["data_offsets"]
        bits = np.frombuffer(raw[8 + n + first:8 + n + last], "<u2").astype(np.uint32) << 16
        out[name] = torch.tensor(bits.view(np.float32).reshape(entry["shape"]).copy())
    return out


def settings(task, temperature, dense=True, adapted=False, pooling=None):
    """Of a head that reads a window's mean, or means that slide over it, for config.json."""
    return {**(pooling or {"pooling": "mean"}), "normalize": True, "layer": 12, "adapted": adapted, "dense": dense, "activation": "gelu", "labels": MAPPING[task][3],
            "temperature_alone": round(temperature, 4)}


def put(task, tensors, head, fusion, adapter, second, folder=MODEL):
    """A head of a folder, its settings and its mixtures in the place of those of that task; others stay. `adapter`: of the LoRA pairs
    among the tensors, which replace those that are there; `second`: as a second reader of English."""
    kept = load(folder / "adapters.safetensors")
    save(folder / "adapters.safetensors", {**{k: v for k, v in kept.items() if not k.startswith(f"{task}.") and "lora_" not in k}, **tensors})
    config = json.loads((folder / "config.json").read_text())
    config["heads"][task], config["fusion"][task], config["fusion"][f"{task}_second"] = head, fusion, second
    for other in config["heads"].values():
        other.setdefault("adapted", False)
    settle(folder / "config.json", config)
    settle(folder / "adapter_config.json", {**json.loads((folder / "adapter_config.json").read_text()), **adapter})
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        raw = (folder / file["path"]).read_bytes()
        file.update(bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest())
    settle(folder / "manifest.json", manifest)


def settle(path, value):
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
