"""Trains the domain's part of models/neural-multilingual, adapters in the upper layers of multilingual-e5-small and a head; the parts
for other tasks stay as they are.

    python multilingual_domain.py --work DIR [--parts 0 1 ...] [--threads N] [--data ../../shared/data]

Needs torch 2. Rows: the train files of the domain model, the questions of domain_written.txt and those of domain_languages.txt. Each of
three parts of the collections and languages is left out once and asked about: that chooses the temperature. Rows that training of
models/neural kept out are left out once, too, for domain_second.py (`--parts held`). All is kept in --work and goes on where it
stopped; `--parts` trains those alone and writes no model, so that two processes can share the work. `--take` copies the part from
another such folder, for when several were changed. domain_languages_test.txt is not opened here.
"""
import argparse
import collections
import json
import pathlib
import random

import numpy as np
import torch

import data
import jailbreak_data as jd
import multilingual_adapters as adapters
import multilingual_heads as heads
import multilingual_rows as mr
import multilingual_trunk as trunk
import neural_domain

HERE = pathlib.Path(__file__).resolve().parent
FILE = "domain.safetensors"
TEXTS = HERE / "domain_languages.txt"
QUARTERS = 4    # of the languages, for leaving them out
# own: how much more a row of domain_written.txt and domain_languages.txt weighs than its collection's share; the others are those of
# multilingual_adapters.py
CHOICES = {"first": 6, "rank": 8, "alpha": 16, "rate": 1e-3, "epochs": 3.0, "warmup": 0.04, "decay": 0.05, "smoothing": 0.05, "batch": 4096,
           "unsure": 0.1, "again": 0.3, "tokens": 225, "average": 0.01, "seed": 7, "own": 2.0}
TASK = ("domain", len(data.LABELS))
PARTS = {"exams": 0, "workbooks": 1, "chat": 1, "languages 0": 1, "languages 1": 1, "requests": 2, "written": 2, "chinese": 2, "languages 2": 2, "languages 3": 2}
# The linear tier knows few words of these languages.
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
    out = mr.domain_rows(root)
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
    return f"languages {int(data.chance(row.lang, 'left out') * QUARTERS)}" if row.source == "languages" else row.source


def weights(every):
    return heads.weights(every, [mr.family(r) for r in every]) * np.where([r.source in ("written", "languages") for r in every], CHOICES["own"], 1.0)


def kept_out(root, every):
    """Marks the rows that training of models/neural kept out, and what shares a window with one of these."""
    rows, _, held = neural_domain.load(root)
    windows = {jd.window(r.text, random.Random(r.text), mr.TOKENS, 1.0) for r, out in zip(rows, held) if out}
    return np.array([r.text in windows for r in every])


def left_out(args, every, texts, parts):
    """Logits of the rows by a model that did not see their part; NaN: of a part that is not there yet. `held` among the parts: the
    model without the rows that were kept out, for domain_second.py."""
    part, y = np.array([PARTS[family(r)] for r in every]), np.array([r.label for r in every])
    w, z = weights(every), np.full((len(every), len(data.LABELS)), np.nan, np.float32)
    for name in [*range(max(PARTS.values()) + 1), "held"]:
        path, out = args.work / f"domain-{name}.npz", part == name if name != "held" else kept_out(args.data, every)
        if not path.exists() and name in parts:
            model = adapters.train(texts, y, w, np.nonzero(~out)[0], CHOICES, *TASK)
            heads.save(path.with_suffix(".safetensors"), adapters.trained(model))
            np.savez_compressed(path, z=adapters.logits(model, texts, np.nonzero(out)[0]))
            print(f"without part {name}", flush=True)
        if path.exists() and name != "held":
            z[out] = np.load(path)["z"]
    return z


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


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--parts", nargs="*", type=lambda s: s if s == "held" else int(s))
    args.add_argument("--threads", type=int, default=1)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    every = rows(args.data)
    texts = adapters.Texts([r.text for r in every], args.work, CHOICES)
    if args.parts == []:
        return print(f"{len(texts.states)} tokens")
    z = left_out(args, every, texts, [*range(max(PARTS.values()) + 1), "held"] if args.parts is None else args.parts)
    if args.parts is None:
        ship(final(args.work, every, texts), every, z)


def final(work, every, texts):
    """The model of all rows."""
    path = work / "domain-final.safetensors"
    if not path.exists():
        model = adapters.train(texts, np.array([r.label for r in every]), weights(every), np.arange(len(every)), CHOICES, *TASK)
        heads.save(path, adapters.trained(model))
    return adapters.load(path, CHOICES, *TASK)


def ship(model, every, z):
    """Adapters, head and their settings into the folder, in a file of their own."""
    right, temperature, errors = measure(z, np.array([r.label for r in every]), np.array([family(r) for r in every]))
    heads.put("domain", model.export(), {**heads.settings("domain", temperature, dense=False, adapted=True), "weights": FILE}, {**FUSION, "temperature": 1.0},
              {"r": CHOICES["rank"], "lora_alpha": CHOICES["alpha"], "target_modules": sorted(trunk.LINEARS.values())}, SECOND, file=FILE)
    figures = {"choices": {**CHOICES, **FUSION, "temperature": round(temperature, 4)}, "rows": dict(collections.Counter(r.source for r in every)),
               "left_out": {"accuracy": right, "ece": errors}}
    (heads.MODEL / "domain.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
