"""What the domain head of models/neural-multilingual is worth as a second opinion on English texts, on rows that no tier has seen.

    python held_domain.py --out LINEAR.npz
    python domain_second.py --linear LINEAR.npz --work DIR [--binary ../build/semroute] [--data ../../shared/data]

The rows are those that training of models/neural kept out: the linear tier's answers are by held_domain.py, and the head is trained
here without them. Where the first answer's best probability is below a bar, the logarithms of both are added with weights. --work is
that of multilingual_domain.py. Chooses nothing by itself and writes nothing.
"""
import argparse
import hashlib
import json
import pathlib
import random
import subprocess
import tempfile

import numpy as np

import data
import fit
import jailbreak_data as jd
import multilingual_domain as md
import multilingual_heads as heads
import multilingual_rows as mr
import neural_domain

HERE = pathlib.Path(__file__).resolve().parent
CERTAIN = 0.9    # of the linear tier, which then answers alone
BARS, WEIGHTS = (0.5, 0.6, 0.7, 0.9), ((0.8, 0.2), (0.7, 0.3), (0.6, 0.4), (0.5, 0.5), (0.4, 0.6))


def mixed(parts, temperature=1.0):
    """parts: (weight, probabilities)."""
    return fit.probabilities(sum(w * np.log(np.maximum(p, 1e-6)) for w, p in parts), temperature)


def neural(binary, texts):
    """Probabilities by models/neural alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": t}) + "\n" for t in texts)
        file.flush()
        done = subprocess.run([binary, "classify", "--task", "domain", "--tier", "neural", "--json", "--threads", "1", "--jsonl", file.name],
                              capture_output=True, text=True, check=True)
    return np.array([[json.loads(line)["probabilities"][label] for label in data.LABELS] for line in done.stdout.splitlines()])


def first_answers(args, kept):
    """As the cascade gives them."""
    known = np.load(args.linear)
    at = {k: i for i, k in enumerate(known["text"].tolist())}
    y = np.array([r.label for r in kept])
    z = known["logits"][[at[hashlib.sha256(r.text.encode()).hexdigest()] for r in kept]]
    linear = fit.probabilities(z, fit.fit_temperature(z, y))
    fusion = json.loads((HERE.parent / "models" / "neural" / "config.json").read_text())["fusion"]["domain"]
    both = mixed([(fusion["neural"], neural(args.binary, [r.text for r in kept])), (fusion["linear"], linear)], fusion["temperature"])
    return np.where(linear.max(1, keepdims=True) >= CERTAIN, linear, both)


def second_answers(args, kept):
    every = md.rows(args.data)
    windows = [jd.window(r.text, random.Random(r.text), mr.TOKENS, 1.0) for r in kept]
    task = heads.Task(every, mr.features(args.binary, args.work, [r.text for r in every]))
    seen = ~np.isin([r.text for r in every], windows)
    w = md.weights(task, md.CHOICES["own"])
    head = heads.train(task.x[seen], task.y[seen], w[seen], len(data.LABELS), md.form(md.CHOICES))
    z = heads.logits(head, mr.features(args.binary, args.work, windows))
    return fit.probabilities(z, fit.fit_temperature(z, np.array([r.label for r in kept])))


def show(name, p, y, source):
    shares = [f"{s} {100 * (p.argmax(1) == y)[source == s].mean():.1f} ({fit.calibration_error(p[source == s], y[source == s]):.3f})" for s in sorted(set(source))]
    print(f"{name:24}", ", ".join(shares), flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--linear", required=True, type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args = args.parse_args()
    rows, _, held = neural_domain.load(args.data)
    kept = [r for r, out in zip(rows, held) if out and r.source not in ("gaokao-zh", "exemplars")]
    y, source = np.array([r.label for r in kept]), np.array([r.source for r in kept])
    first, second = first_answers(args, kept), second_answers(args, kept)
    print("right answers of a source in percent, and calibration error")
    show("first", first, y, source)
    show("second alone", second, y, source)
    for bar in BARS:
        asked = first.max(1, keepdims=True) < bar
        for a, b in WEIGHTS:
            show(f"{a}, {b} below {bar} ({100 * asked.mean():.0f} %)", np.where(asked, mixed([(a, first), (b, second)]), first), y, source)


if __name__ == "__main__":
    main()
