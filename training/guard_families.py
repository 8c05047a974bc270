"""What a new jailbreak head of models/neural would be worth on families left out, and what the guard makes of texts/families.

    python guard_families.py --work DIR [--trunk DIR] [--data ../../shared/data] [--binary ../build/semroute]

The adapters stay. Heads are fitted on the first token's vectors of one window of each English row (multilingual_rows.jailbreak_rows),
of the texts of texts/families and of windows of long prompts, five times without a group of families (multilingual_rows.group_of),
and asked about the families of that group that the adapters do not know. Each family weighs alike. Prints recall where harmless
families raise a false alarm in 1, 3 and 6 % of their texts, the worst harmless family at 3 %, then the shares of texts/families that
the tiers take for attacks at 0.7: models/neural was not trained on these, the linear tier and the second reader were. Writes nothing
but vectors into --work, and goes on where it stopped. Only train files are read.
"""
import argparse
import collections
import pathlib
import random
import re

import numpy as np
import torch
from safetensors.torch import load_file

import data
import figures_common as common
import guard_legal
import jailbreak_data as jd
import left_out_names
import multilingual_rows as mr
import written

HERE = pathlib.Path(__file__).resolve().parent
JUDGED, OWN, KNOWN, LONG = 200, 250, 60, 60    # rows of a family: that is asked about, of our texts, known to the adapters; long prompts
STEPS, BATCH, RATE, SOFT, SCALE, SEED = 200, 256, 5e-4, 0.98, 2.03, 1
FAMILY = re.compile(r"^%% kind=\w+ lang=\w+(?: beside=(\w+))?", re.M)
Text = collections.namedtuple("Text", "text label family group share")    # share: of the weight of a family


def rows_of(root):
    """(rows that are asked about, rows to learn from)"""
    by, judged, other = collections.defaultdict(list), [], []
    for r in sorted(mr.jailbreak_rows(root), key=lambda r: data.chance(r.text, "e1")):
        if not r.foreign and r.lang == "en":
            by[mr.family(r), r.label].append(r.text)
    for (family, label), texts in by.items():
        group, own = mr.group_of(family, mr.MOST_GROUPS), family.startswith(("technique ", "look-alikes "))
        known = family in left_out_names.OLD or family in mr.FURTHER or group < 0
        most = OWN if own else KNOWN if known else JUDGED
        to = other if known or own else judged
        to += [Text(t, label, family, -1 if own else group, 0.3 if own else 0.5 if known else 1.0) for t in texts[:most]]
    names = sorted({(t.family, t.label) for t in judged})
    rng, long = random.Random(5), []
    for family, label in names:
        mates = [f for f, y in names if not y and (mr.group_of(f, mr.MOST_GROUPS) == mr.group_of(family, mr.MOST_GROUPS))]
        for text in (by[family, 1][:LONG] if label else [None] * LONG):
            pool = by[rng.choice(mates) if label else family, 0]
            long.append(Text(jd.mixed(rng, [pool], text), label, f"long {family}", mr.group_of(family, mr.MOST_GROUPS), 0.5))
    texts = [Text(r.text[:1000], int(r.attack), f"new {r.kind}", -1, 0.3) for r in written.read(written.FAMILIES)]
    return judged, other + long + texts


def weights(rows):
    """Families alike, and both labels."""
    count = collections.Counter((r.family, r.label) for r in rows)
    w, y = np.array([r.share / count[r.family, r.label] for r in rows]), np.array([r.label for r in rows])
    return np.where(y == 1, w / w[y == 1].sum(), w / w[y == 0].sum())


def retrained(x, rows, before, parts, stay):
    """The head fitted anew to the labels from what it is, with a penalty on what it moves."""
    torch.manual_seed(SEED)
    parts = [p.clone().requires_grad_() for p in parts]
    optimizer = torch.optim.Adam(parts, lr=RATE)
    plan = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=STEPS)
    y, draws = torch.tensor([float(r.label) for r in rows]), torch.multinomial(torch.tensor(weights(rows)), STEPS * BATCH, replacement=True).view(STEPS, BATCH)
    for at in draws:
        z = guard_legal.margin(x[at], parts) / SCALE
        loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y[at] * SOFT + (1 - SOFT) / 2) + stay * ((z - before[at] / SCALE) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        plan.step()
    return lambda v, z: guard_legal.margin(v, [p.detach() for p in parts]).numpy()


def discriminant(x, rows, before, parts, share):
    """The head and a linear discriminant that is blind to what tells families of one label apart, mixed."""
    x, places = x.numpy(), collections.defaultdict(list)
    for i, r in enumerate(rows):
        places[r.label, r.family].append(i)
    spread, means = np.zeros((x.shape[1],) * 2), {0: [], 1: []}
    for (label, _), at in places.items():
        means[label].append(x[at].mean(0))
        spread += np.cov(x[at].T, bias=True) / len(places)
    for own in means.values():
        spread += np.cov(np.array(own).T, bias=True) / 2
    spread += 0.1 * np.trace(spread) / len(spread) * np.eye(len(spread))
    w = np.linalg.solve(spread, np.mean(means[1], 0) - np.mean(means[0], 0))
    w *= before.numpy().std() / (x @ w).std()
    return lambda v, z: (1 - share) * z.numpy() + share * (v.numpy() @ w)


def table(rows, z, rate):
    """(mean recall, worst harmless family) where the mean rate of false alarms is `rate`."""
    places = collections.defaultdict(list)
    for score, r in zip(z, rows):
        places[r.label, r.family].append(score)
    families = {k: np.array(v) for k, v in places.items() if len(v) >= 20}
    harmless = [v for (label, _), v in families.items() if not label]
    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean([(v >= middle).mean() for v in harmless]) > rate else (low, middle)
    return np.mean([(v >= high).mean() for (label, _), v in families.items() if label]), max((v >= high).mean() for v in harmless)


def report(name, rows, z):
    found = [table(rows, z, rate) for rate in (0.01, 0.03, 0.06)]
    print(f"{name}: recall at 1, 3, 6 % {', '.join(f'{100 * r:.1f}' for r, _ in found)}; worst harmless family at 3 % {100 * found[1][1]:.1f}", flush=True)


def heads(args):
    judged, other = rows_of(args.data)
    x = guard_legal.vectors(args, [r.text for r in judged + other])
    source = load_file(str(args.model / "adapters.safetensors"))
    parts = [source[f"jailbreak.{name}"].float() for name in guard_legal.PARTS]
    rows, before, group = judged + other, guard_legal.margin(x, parts).detach(), np.array([r.group for r in judged + other])
    report("as it is", judged, before[:len(judged)].numpy())
    variants = {"retrained": (retrained, 0.05), "retrained, kept near": (retrained, 0.3), "with a quarter of a discriminant": (discriminant, 0.25), "with half": (discriminant, 0.5)}
    for name, (make, value) in variants.items():
        z = np.zeros(len(judged))
        for k in range(mr.MOST_GROUPS):
            use, asked = np.nonzero(group != k)[0], np.nonzero(group[:len(judged)] == k)[0]
            if len(asked):
                z[asked] = make(x[use], [rows[i] for i in use], before[use], parts, value)(x[asked], before[asked])
        report(name, judged, z)


def families(args):
    records = written.read(written.FAMILIES)
    beside = [m.group(1) for path in sorted(written.FAMILIES.glob("*.txt")) for m in FAMILY.finditer(path.read_text(encoding="utf-8"))]
    scores = [[a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", [r.text for r in records], tier, "--threads", "1")] for tier in ("linear", "neural", "cascade")]
    places = collections.defaultdict(list)
    for i, (r, name) in enumerate(zip(records, beside)):
        for key in ((r.attack, "all"), *(() if r.attack else ((False, name),))):
            places[key].append([s[i] for s in scores])
    for (attack, name), own in sorted(places.items()):
        print(f"{'attacks' if attack else 'harmless'} {name}, {len(own)}: linear, neural, both {', '.join(f'{100 * v:.0f} %' for v in np.mean(own, 0))}", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", default=HERE.parent / "models" / "all-MiniLM-L6-v2", type=pathlib.Path)
    args.add_argument("--model", default=HERE.parent / "models" / "neural", type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args = args.parse_args()
    families(args)
    heads(args)


if __name__ == "__main__":
    main()
