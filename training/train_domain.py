"""Trains the linear tier's domain model and writes models/domain-linear/.

    python train_domain.py --data ../../shared/data [--out ../models/domain-linear] [--cv-only]

Every choice in CHOICES was made by grouped cross-validation on the train files (README.md); no dev file is opened.
Takes minutes on two cores and about 6 GB of memory.
"""
import argparse
import hashlib
import json
import multiprocessing
import pathlib
import time

import numpy as np

import card
import data
import features
import fit
import shift
import table

HERE = pathlib.Path(__file__).resolve().parent
CHOICES = {
    "least": 2,             # texts that an n-gram must occur in
    "damping": 20.0,        # n-grams added to a text's own number under the root
    "rough": {"loss": "log", "power": 2.0, "telling": 0.0, "penalty": 1e-3, "steps": 15},  # ranks the n-grams
    # Models whose logits are added with these shares. A column's scale is its inverse document frequency to `power`
    # times fit.telling to `telling`; the shares give each about the same say (the hinge's margins are small).
    "views": [
        {"loss": "log", "power": 2.0, "telling": 0.0, "penalty": 3e-4, "steps": 40, "share": 0.26},
        {"loss": "log", "power": 2.0, "telling": 1.0, "penalty": 1e-3, "steps": 40, "share": 0.27},
        {"loss": "log", "power": 3.0, "telling": 0.0, "penalty": 3e-3, "steps": 40, "share": 0.24},
        {"loss": "hinge", "power": 2.0, "telling": 0.0, "penalty": 1.2e-4, "steps": 40, "share": 1.44},
    ],
    "buckets": 40960,       # of 8 rows
    "fill": 0.85,           # share of the rows that n-grams are chosen for
    "clip": 0.99995,        # quantile of |weight| that becomes 127
    "source_weight": {"longfact": 2.5},  # the one source of chat prompts
    "options_weight": 0.3,  # of a question's answer options as a text of their own
    "framed_share": 0.25,   # of questions that get a copy in a chat frame
    "framed_weight": 0.5,
}
COLLECTIONS = ["chat", "workbooks", "chinese"]  # each is left out once: text unlike what is trained on
STATE = {}  # rows, samples and keys, inherited by forked workers


def fit_view(view, x, idf, y, weight):
    """Weights of one view, for columns of ones, and its bias."""
    scale = idf ** view["power"] * fit.telling(x, y, view["telling"])
    x = fit.scaled(x, scale, CHOICES["damping"])
    if view["loss"] == "hinge":  # margins are of length 1, so rows should be
        norm = np.float32(np.sqrt(x.multiply(x).sum(1).mean()))
        x, scale = x / norm, scale / norm
    w, bias = fit.regression(x.tocsr(), y, weight, view["loss"], view["penalty"], view["steps"])
    return w * scale[:, None], bias


def train(chosen):
    """A table.Model (temperature 1) from the samples of the rows that `chosen` marks."""
    use = [i for i, s in enumerate(STATE["samples"]) if chosen[s.row]]
    keys = [STATE["keys"][i] for i in use]
    y = np.array([STATE["rows"][STATE["samples"][i].row].label for i in use])
    weight = np.array([STATE["samples"][i].weight for i in use])
    c = CHOICES
    vocab = fit.vocabulary(keys, c["least"])
    x = fit.presence(keys, vocab)
    idf = fit.rarity(x)
    rough, _ = fit_view(c["rough"], x, idf, y, weight)
    importance = np.linalg.norm(rough, axis=1) * np.sqrt(np.asarray(x.sum(0)).ravel())
    best = np.argsort(-importance, kind="stable")[:int(c["buckets"] * table.SLOTS * c["fill"])]
    prints, owner = table.fill(vocab[best], importance[best], c["buckets"])
    held = np.sort(owner[owner >= 0])
    x, idf = x[:, best[held]], idf[best[held]]
    weights, bias = 0, 0
    for view in c["views"]:
        w, b = fit_view(view, x, idf, y, weight)
        weights, bias = weights + view["share"] * w, bias + view["share"] * b
    return quantise(prints, owner, held, weights, bias)


def quantise(prints, owner, kept, weights, bias):
    weights = weights - weights.mean(1, keepdims=True)  # softmax does not see what all labels share
    step = float(np.quantile(np.abs(weights), CHOICES["clip"])) / 127
    small = np.clip(np.rint(weights / step), -127, 127).astype(np.int8)
    rows = np.zeros((len(owner), len(data.LABELS)), np.int8)
    filled = owner >= 0
    rows[filled] = small[np.searchsorted(kept, owner[filled])]
    return table.Model(prints, rows, bias - bias.mean(), step, 1.0, CHOICES["damping"])


def held_out(chosen):
    """Logits of the questions that `chosen` leaves out, by a model of the others."""
    model = train(chosen)
    left = np.nonzero(~chosen)[0]
    return left, np.array([model.logits(STATE["rows"][i].text.encode()) for i in left])


def by_source(rows, right):
    source = np.array([r.source for r in rows])
    return {s: float(right[source == s].mean()) for s in data.SOURCES if (source == s).any()}


def cross_validate(fold, pool):
    """Out-of-fold logits of all rows."""
    logits = np.zeros((len(fold), len(data.LABELS)))
    for left, z in pool.imap_unordered(held_out, [fold != f for f in range(data.FOLDS)]):
        logits[left] = z
    return logits


def held_out_collection(name):
    """Logits of one collection by a model that saw all the others. They name some fields differently (accounting is
    `business` in longfact and `other` in MMLU), so this compares choices rather than saying what users get."""
    return held_out(np.array([r.collection != name for r in STATE["rows"]]))


def prepare(root):
    rows, inputs = data.load(root)
    c = CHOICES
    STATE["rows"] = rows
    STATE["samples"] = data.samples(rows, c["source_weight"], c["options_weight"], c["framed_share"], c["framed_weight"])
    STATE["keys"] = [features.keys(s.text) for s in STATE["samples"]]
    return rows, inputs


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--out", default=HERE.parent / "models" / "domain-linear", type=pathlib.Path)
    args.add_argument("--cv-only", action="store_true", help="print the cross-validated figures and stop")
    args = args.parse_args()
    began = time.time()
    rows, inputs = prepare(args.data)
    y = np.array([r.label for r in rows])
    fold = data.folds(rows)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        shipped = None if args.cv_only else pool.apply_async(train, [np.ones(len(rows), bool)])
        left_out = {name: pool.apply_async(held_out_collection, [name]) for name in COLLECTIONS}
        logits = cross_validate(fold, pool)
        temperature = fit.fit_temperature(logits, y)
        p = fit.probabilities(logits, temperature)
        figures = {"temperature": temperature, "cv_accuracy": by_source(rows, p.argmax(1) == y),
                   "cv_ece": fit.calibration_error(p, y),
                   "cv_ece_uncalibrated": fit.calibration_error(fit.probabilities(logits, 1.0), y),
                   "cv_log_loss": float(-np.log(p[np.arange(len(y)), y]).mean())}
        figures["left_out"] = {}
        for name, job in left_out.items():
            left, z = job.get()
            figures["left_out"][name] = shift.figures(z, y[left], temperature)
        print(json.dumps(figures, indent=1), flush=True)
        if args.cv_only:
            return
        model = shipped.get()
    model.temperature = temperature
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "model.safetensors"
    model.save(path, {"task": "domain", "labels": "|".join(data.LABELS)})
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    figures["rows_used"] = int((model.prints != 0).sum())
    card.write(args.out, path, digest, inputs, CHOICES, figures)
    print(f"{path}: {path.stat().st_size} bytes, sha256 {digest}, {time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
