"""Calibrates the neural classifier on the rows that training kept out, and writes the files again with what it found.

    python calibrate_neural.py --trunk DIR --work DIR --linear-margins FILE --linear-domain FILE [--model DIR] [--out DIR]

`--linear-margins` is what train_jailbreak_linear.py --margins wrote, `--linear-domain` what held_domain.py wrote: answers of
the linear tier to rows that it did not see either. Without the former, the jailbreak task mixes both by LEANING. Only train
files are read.
"""
import argparse
import hashlib
import json
import pathlib
import random

import numpy as np
import torch

import data
import fit
import jailbreak_data as jd
import neural_domain
import neural_eval as je
import neural_files
import neural_jailbreak
import neural_pii
import pii_templates
import train_neural
import trunk

HERE = pathlib.Path(__file__).resolve().parent
RATE, POINT = 0.01, 0.7
HARMLESS, TWEETS, TEMPLATES, CHARACTERS = 900, 200, 300, 6000   # held-out rows that are read, and of each text of the jailbreak task
MADE = ["made-attacks", "made-lookalikes", "made-planted", "made-carriers", "made-surrounded", "made-mixed"]   # drawn otherwise than in training
MADE_ROWS = 250     # of each that are read
LINEAR_LIMIT = 4.0  # log odds: sums of many n-grams go far in long texts, where they mean least
LEAST = 30      # harmless rows of a source that say something about its rate
NOT_NEURALD = {"composed-injections", "llmguard-tests", "jailbreak-bipia", "multilingual-override"} | set(MADE)


def held_domain(root):
    rows, _, held = neural_domain.load(root)
    return [r for r, out in zip(rows, held) if out and data.chance(r.text, "calibrated") < 0.6]


def held_jailbreak(root):
    rows, _, _, held = neural_jailbreak.load(root)
    rows = [r for r, out in zip(rows, held) if out]
    harmless = sorted((r for r in rows if not r.label), key=lambda r: data.chance(r.text, "calibrated"))
    rare = [r for r in harmless if r.source in ("benign-prompts", "benign-real-users")]
    made = [r for r in jd.load(root)[0] if r.source in MADE]
    made = [r for s in MADE for l in (0, 1) for r in [r for r in made if r.source == s and r.label == l][:MADE_ROWS]]
    return [r for r in rows if r.label] + list(dict.fromkeys(rare + harmless[:HARMLESS])) + made


def held_pii(root):
    rows, _, held = neural_pii.load(root)
    rng = random.Random(99)
    presidio = [r for r, out in zip(rows, held) if out and r[0] == "presidio"]
    tweets = [r for r, out in zip(rows, held) if out and r[0] == "tweets"][:TWEETS]
    return presidio, tweets, [("made", *pii_templates.make(rng), "") for _ in range(TEMPLATES)]


def domain(reader, root, linear):
    """Temperatures and the mixing with the linear tier."""
    rows = held_domain(root)
    y = np.array([r.label for r in rows])
    z = np.array([a["domain"] for a in reader.read([r.text for r in rows])])
    at = {k: i for i, k in enumerate(linear["text"].tolist())}
    other = linear["logits"][[at[hashlib.sha256(r.text.encode()).hexdigest()] for r in rows]]
    alone = fit.fit_temperature(z, y)
    cool = fit.fit_temperature(other, y)
    neural, lin = je.log_p(z, alone), je.log_p(other, cool)
    best = None
    for share in np.arange(0.2, 0.85, 0.05):
        mixed = share * neural + (1 - share) * lin
        t = fit.fit_temperature(mixed, y)
        loss = -je.log_p(mixed, t)[np.arange(len(y)), y].mean()
        if best is None or loss < best[0]:
            best = (loss, share, t)
    _, share, t = best
    mixed = share * neural + (1 - share) * lin
    p = fit.probabilities(mixed, t)
    source = np.array([r.source for r in rows])

    def accuracy(s):
        return {k: [int((source == k).sum()), round(float((s.argmax(1) == y)[source == k].mean()), 4)] for k in data.SOURCES if (source == k).any()}

    figures = {"held_rows": len(rows), "neural": accuracy(z), "linear": accuracy(other), "fused": accuracy(mixed), "neural_share": round(float(share), 2),
               "ece": {"neural": fit.calibration_error(fit.probabilities(z, alone), y), "neural_uncalibrated": fit.calibration_error(fit.probabilities(z, 1.0), y),
                       "fused": fit.calibration_error(p, y)}}
    return alone, {"neural": round(float(share), 3), "linear": round(float(1 - share), 3), "temperature": round(t, 4)}, figures


def calibrated(margin, y, source):
    """threshold, temperature and shift such that RATE of the harmless (mean over sources) have POINT or more."""
    few = {s for s in set(source) if ((source == s) & (y == 0)).sum() < LEAST}
    threshold = jd.threshold_at(margin[y == 0], source[y == 0].tolist(), RATE, NOT_NEURALD | few)
    share = (y == 1).mean()
    import train_jailbreak_linear as linear
    t, shift = linear.calibrate(margin, y, np.where(y == 1, 0.5 / share, 0.5 / (1 - share)), threshold, POINT)
    return threshold, t, shift


def table(odds, y, source):
    """Rows of each source and the share of them at POINT or more."""
    flagged = odds >= np.log(POINT / (1 - POINT))
    return {f"{'attack' if l else 'harmless'} {k}": [int(((y == l) & (source == k)).sum()), round(float(flagged[(y == l) & (source == k)].mean()), 4)]
            for l in (0, 1) for k in sorted(set(source[y == l]))}


# Where the linear tier's answers to the held-out rows are not known: the tier which has the better recall out of fold, alone.
LEANING = {"neural": 0.0, "linear": 1.0, "shift": 0.0, "temperature": 1.0}


def attack(reader, root, margins):
    rows = held_jailbreak(root)
    y, source = np.array([r.label for r in rows]), np.array([r.source for r in rows])
    windows = [a["jailbreak"] for a in reader.read([r.text[:CHARACTERS] for r in rows])]
    m = np.array([jd.highest(w) for w in windows])
    if margins is None:
        _, t, shift = calibrated(m, y, source)
        return (t, shift), dict(LEANING), {"neural": table((m + shift) / t, y, source)}
    at = {k: i for i, k in enumerate(margins["text"].tolist())}
    keys = [hashlib.sha256(r.text.encode()).hexdigest() for r in rows]
    known = np.array([k in at for k in keys])
    lin = np.array([margins["margin"][at[k]] if k in at else 0.0 for k in keys])
    rows, y, source, m, lin = [r for r, k in zip(rows, known) if k], y[known], source[known], m[known], lin[known]
    _, t, shift = calibrated(m, y, source)
    _, lt, lshift = calibrated(lin, y, source)
    neural, linear = (m + shift) / t, np.clip((lin + lshift) / lt, -LINEAR_LIMIT, LINEAR_LIMIT)
    tried = []
    for share in np.arange(0.0, 1.01, 0.1):
        mixed = share * neural + (1 - share) * linear
        threshold, mt, mshift = calibrated(mixed, y, source)
        recall = np.mean([(mixed[(y == 1) & (source == s)] >= threshold).mean() for s in ("jailbreak-inthewild", "gptfuzz", "jailbreak-short", "multilingual-override", "composed-injections")])
        each = np.logaddexp(0, np.where(y == 1, -1, 1) * (mixed + mshift) / mt)
        loss = np.mean([each[(y == l) & (source == s)].mean() for l in (0, 1) for s in set(source[y == l])])  # sources alike
        print(f"share {share:.1f} recall {recall:.4f} log loss {loss:.4f}", flush=True)
        tried.append((recall, loss, share, mt, mshift))
    # These rows cannot tell less apart; of those the one with most of the neural classifier, since the linear tier knows fewer texts that it has not seen.
    enough = [t for t in tried if t[0] >= max(r for r, *_ in tried) - 0.01]
    _, _, share, mt, mshift = max((t for t in enough if t[1] <= min(loss for _, loss, *_ in enough) + 0.005), key=lambda t: t[2])
    mixed = (share * neural + (1 - share) * linear + mshift) / mt
    return (t, shift), {"neural": round(float(share), 3), "linear": round(float(1 - share), 3), "shift": round(float(mshift), 4), "temperature": round(float(mt), 4), "linear_limit": LINEAR_LIMIT}, \
        {n: table(s, y, source) for n, s in (("neural", neural), ("linear", linear), ("fused", mixed))}


def personal(reader, root, pieces):
    presidio, tweets, made = held_pii(root)
    figures, thresholds = {}, {}
    answers = reader.read([r[1] for r in presidio + tweets + made], token_head=True)
    found = [je.spans_of(a, pieces, {t: 0.0 for t in pii_templates.TYPES}) for a in answers]
    gold = [r[2] for r in presidio + tweets + made]
    of_tweets = {"PERSON", "GPE", "ORGANIZATION"}
    judged = [[m for m in mine if r[0] != "tweets" or m[2] in of_tweets] for r, mine in zip(presidio + tweets + made, found)]
    for t in pii_templates.TYPES:
        best = max((round(je.f1(je.span_scores(gold, [[m for m in mine if m[3] >= c] for mine in judged], {t}).get(t, [0, 0, 0, 0])), 3), -abs(c - 0.5), c)
                   for c in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9))
        thresholds[t] = best[2]
    kept = [[m for m in mine if m[3] >= thresholds[m[2]]] for mine in judged]
    at = 0
    for name, part in (("presidio", presidio), ("tweets", tweets), ("made", made)):
        scores = je.span_scores(gold[at:at + len(part)], kept[at:at + len(part)])
        figures[name] = {"f1": round(je.micro(scores), 4), "types": {k: [v[0], round(je.f1(v), 3)] for k, v in scores.items()}}
        at += len(part)
    return thresholds, figures


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--model", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--out", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--cache", type=pathlib.Path, help="folder of answers that were computed before")
    args.add_argument("--linear-margins", type=pathlib.Path)
    args.add_argument("--linear-domain", required=True, type=pathlib.Path)
    args.add_argument("--threads", type=int, default=2)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    folder = trunk.find(args.trunk)
    tok = trunk.tokenizer(folder)
    model = neural_files.read(args.model, train_neural.build(folder, {t: len(l) for t, l in neural_files.LABELS.items()}))
    pieces = np.array([(tok.id_to_token(i) or "").startswith("##") for i in range(tok.get_vocab_size())])
    reader = je.Reader(model, tok, cache=args.cache)
    calibration = json.loads(json.dumps(neural_files.PLAIN))
    figures = {}
    calibration["temperature"]["domain"], calibration["fusion"]["domain"], figures["domain"] = domain(reader, args.data, np.load(args.linear_domain))
    print(json.dumps(figures["domain"]), flush=True)
    (t, shift), calibration["fusion"]["jailbreak"], figures["jailbreak"] = attack(reader, args.data, np.load(args.linear_margins) if args.linear_margins else None)
    calibration["temperature"]["jailbreak"] = t
    print(json.dumps(figures["jailbreak"]), flush=True)
    calibration["thresholds"]["pii"], figures["pii"] = personal(reader, args.data, pieces)
    print(json.dumps(figures["pii"]), flush=True)
    with torch.no_grad():
        model.heads["jailbreak"].out.bias += torch.tensor([-shift / 2, shift / 2])
    neural_files.write(args.out, model, train_neural.CHOICES, calibration)
    path = args.out / "train.json"
    report = json.loads(path.read_text()) if path.exists() else {}
    report["held_out"] = figures
    path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
