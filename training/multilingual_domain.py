"""Trains the domain head on multilingual-e5-small into models/neural-multilingual, whose other heads stay as they are.

    /usr/bin/python3 multilingual_domain.py --work DIR [--binary ../build/semroute] [--data ../../shared/data] [--choose]
    /usr/bin/python3 multilingual_domain.py --take DIR

Rows: the train files of the domain model, the questions of domain_written.txt and those of domain_languages.txt. Vectors are kept
in --work, as multilingual_rows.py does. Choices and the temperature are made on collections and languages that were left out in
turn; `--choose` prints the figures of what was compared. `--take` copies the head and its settings from another such folder, for
when both were changed. domain_languages_test.txt is not opened here.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import struct

import numpy as np

import data
import multilingual_rows as mr

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "models" / "neural-multilingual"
TEXTS = HERE / "domain_languages.txt"
PARTS = 4    # of the languages, for leaving them out
# own: how much more a row of domain_written.txt and domain_languages.txt weighs than its collection's share
CHOICES = {"hidden": 384, "decay": 1e-3, "steps": 1500, "drop": 0.2, "own": 2.0}
# The linear tier knows few words of these languages. On a fold of the Chinese questions and a part of the languages, left out of
# both, 94.8 and 88.6 % are right; at 0.7 and 0.3 95.7 and 87.9 %, which is no difference.
FUSION = {"neural": 0.8, "linear": 0.2}
# English texts of at most so many tokens whose best probability is below `certain` (domain_second.py measures it).
SECOND = {"first": 0.6, "neural": 0.4, "certain": 0.6, "tokens": 128}


def languages(path):
    """{language: questions} and the labels, of which each language has them in the same order."""
    found, labels = {}, []
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.startswith("== "):
            mine = found.setdefault(line[3:], [])
        elif line and not line.startswith("# "):
            label, _, text = line.rpartition("\t")
            labels += [label] if label else []
            mine.append(text)
    labels = labels or [label for label in data.LABELS for _ in range(2)]
    if any(len(texts) != len(labels) for texts in found.values()):
        raise SystemExit(f"{path}: a language has other than {len(labels)} questions")
    return found, labels


def rows(root):
    most, mr.DOMAIN = mr.DOMAIN, dict.fromkeys(mr.DOMAIN, 10**6)
    out = mr.domain_rows(root)
    mr.DOMAIN = most
    for line in (HERE / "domain_written.txt").read_text(encoding="utf-8").split("\n"):
        label, tab, text = line.partition("\t")
        if tab:
            out.append(mr.Row("domain", "written", text.replace("\\n", "\n"), data.LABELS.index(label), "", "written", "", False, 1.0))
    found, labels = languages(TEXTS)
    for lang, texts in found.items():
        out += [mr.Row("domain", "languages", t, data.LABELS.index(label), lang, "written", "", True, 1.0) for label, t in zip(labels, texts)]
    return out


def family(row):
    """What is left out together."""
    return f"languages {int(data.chance(row.lang, 'left out') * PARTS)}" if row.source == "languages" else row.source


def weights(task, own):
    return task.w * np.where([r.source in ("written", "languages") for r in task.rows], own, 1.0)


def form(choices):
    return {k: choices[k] for k in ("hidden", "decay", "steps", "drop")}


def left_out(heads, task, choices):
    """Logits of each family by a head that did not see it."""
    names = np.array([family(r) for r in task.rows])
    w, out = weights(task, choices["own"]), np.zeros((len(names), len(data.LABELS)), np.float32)
    for name in sorted(set(names.tolist())):
        mine = names == name
        out[mine] = heads.logits(heads.train(task.x[~mine], task.y[~mine], w[~mine], len(data.LABELS), form(choices)), task.x[mine])
    return out, names


def softmax(z):
    p = np.exp(z - z.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def calibration(z, y, temperature, bins=15):
    """Expected calibration error."""
    p = softmax(z / temperature)
    sure, right = p.max(1), p.argmax(1) == y
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return sum(abs(sure[place == b].mean() - right[place == b].mean()) * (place == b).mean() for b in range(bins) if (place == b).any())


def measure(z, y, names):
    """Accuracy of each family, and the temperature with the least mean calibration error over families, with those errors."""
    families = sorted(set(names.tolist()))
    right = {f: round(float((z.argmax(1) == y)[names == f].mean()), 3) for f in families}
    error = lambda t: {f: round(float(calibration(z[names == f], y[names == f], t)), 3) for f in families}  # noqa: E731
    best = min(np.exp(np.linspace(-0.5, 1.7, 45)), key=lambda t: np.mean(list(error(t).values())))
    return right, float(best), error(best)


def read(path):
    """(header, body) of a safetensors file."""
    raw = path.read_bytes()
    n = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + n]), raw[8 + n:]


def replace(folder, tensors, domain, fusion):
    """Puts `tensors` {name: (shape, bfloat16 bytes)} in the place of the domain head's, and its settings into config.json."""
    header, body = read(folder / "adapters.safetensors")
    kept = {k: (v["shape"], body[slice(*v["data_offsets"])]) for k, v in header.items() if not k.startswith(("domain.", "__"))}
    header, body = {}, b""
    for name, (shape, raw) in sorted({**kept, **tensors}.items()):
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "adapters.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)
    config = json.loads((folder / "config.json").read_text())
    config["heads"]["domain"], config["fusion"]["domain"], config["fusion"]["domain_second"] = domain, fusion, SECOND
    (folder / "config.json").write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        raw = (folder / file["path"]).read_bytes()
        file.update(bytes=len(raw), sha256=hashlib.sha256(raw).hexdigest())
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def take(folder):
    header, body = read(folder / "adapters.safetensors")
    config = json.loads((folder / "config.json").read_text())
    mine = {k: (v["shape"], body[slice(*v["data_offsets"])]) for k, v in header.items() if k.startswith("domain.")}
    replace(MODEL, mine, config["heads"]["domain"], config["fusion"]["domain"])


def bfloat16(tensor):
    bits = np.ascontiguousarray(tensor.detach().numpy(), np.float32).view(np.uint32)
    return list(tensor.shape), ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2").tobytes()


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--choose", action="store_true")
    args.add_argument("--take", type=pathlib.Path)
    args = args.parse_args()
    if args.take:
        return take(args.take)
    make(args)


def make(args):
    """Trains the head and puts it into the folder; with args.choose, prints figures instead."""
    import multilingual_heads as heads    # needs torch
    every = rows(args.data)
    task = heads.Task(every, mr.features(args.binary, args.work, [r.text for r in every]))
    for change in ({}, {"own": 1.0}, {"own": 4.0}, {"steps": 900}, {"steps": 900, "drop": 0.0}, {"decay": 1e-2}) if args.choose else ({},):
        z, names = left_out(heads, task, {**CHOICES, **change})
        right, temperature, errors = measure(z, task.y, names)
        print(change, f"accuracy {np.mean(list(right.values())):.3f}, temperature {temperature:.2f}, ECE {np.mean(list(errors.values())):.3f}", right, flush=True)
    if args.choose:
        return
    head = heads.train(task.x, task.y, weights(task, CHOICES["own"]), len(data.LABELS), form(CHOICES))
    tensors = {f"domain.{part}.{name}": bfloat16(t) for part in ("dense", "out") for name, t in getattr(head, part).named_parameters()}
    replace(MODEL, tensors, heads.settings("domain", temperature), {**FUSION, "temperature": 1.0})
    figures = {"choices": {**CHOICES, **FUSION, "temperature": round(temperature, 4)}, "rows": dict(collections.Counter(r.source for r in every)),
               "left_out": {"accuracy": right, "ece": errors}}
    (MODEL / "domain.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
