"""What a linear jailbreak model says of texts whose family it has not seen: for fusions with heads that were left out alike.

    python left_out_linear.py --work DIR [--data ../../shared/data]

Rows are those of multilingual_rows.py; their families are left out in the groups of multilingual_rows.group_of, and the model
has all n-grams of the linear tier and its settings, and the calibration of models/jailbreak-linear. It is trained on these
rows, a window each, without those of texts/multilingual and written.LATER, which the linear tier does not know either: the
shipped model has seen more English. Writes --work/left-out-linear.npz: log odds by the SHA-256 of the text. Three minutes of
one idle core and 3 GB.
Only train files are read.
"""
import argparse
import json
import pathlib

import numpy as np

import features
import fit
import multilingual_rows as mr
import train_jailbreak_linear as linear

HERE = pathlib.Path(__file__).resolve().parent
def calibration():
    """(shift, temperature) of margins with all n-grams, from those of the shipped table (calibrate_guard.ship_linear)."""
    figures = json.loads((HERE.parent / "models" / "jailbreak-linear" / "train.json").read_text())["figures"]
    a, b = figures["scale"]
    return (figures["shift"] + b) / a, figures["temperature"] / a


def shares(rows):
    """Weights of rows, attacks having the share of the whole that they have in the linear tier's training."""
    weight, attack = np.array([r.weight for r in rows]), np.array([r.label == 1 for r in rows])
    share = linear.CHOICES["attack_share"]
    weight[attack] *= share * weight[~attack].sum() / ((1 - share) * weight[attack].sum())
    return weight


def margins(x, y, weight, mine, asked):
    """Of the rows `asked` by a model of the rows `mine`."""
    idf = fit.rarity(x[mine])
    w, bias = linear.regress(x[mine], idf, y[mine], weight[mine], linear.CHOICES["rough"])
    scaled = fit.scaled(x[asked], np.ones(len(idf), np.float32), linear.CHOICES["damping"])
    return scaled @ (w[:, 1] - w[:, 0]) + bias[1] - bias[0]


def odds(root, others=()):
    """({SHA-256: log odds} of the rows, log odds of `others`, pairs of a group and a text, which nothing learns from)"""
    rows = mr.guard_rows(root) + mr.later_rows()
    group = np.array([mr.group_of(mr.family(r)) for r in rows] + [g for g, _ in others])
    known = np.array([not mr.is_own(r) for r in rows] + [False] * len(others))
    keys = [features.keys(t.encode()) for t in [r.text for r in rows] + [t for _, t in others]]
    x = fit.presence(keys, fit.vocabulary([k for k, of in zip(keys, known) if of], linear.CHOICES["least"]))
    y, weight = np.array([r.label for r in rows] + [0] * len(others)), shares(rows)
    shift, temperature = calibration()
    z = np.full(len(keys), np.nan)
    for k in range(mr.GROUPS):
        asked = np.nonzero(group == k)[0]
        z[asked] = (margins(x, y, weight, np.nonzero(known & (group != k))[0], asked) + shift) / temperature
        print(f"group {k}", flush=True)
    return {mr.digest(r.text): v for r, v in zip(rows, z) if np.isfinite(v)}, z[len(rows):]


def score(root, work):
    """Writes the file."""
    found, _ = odds(root)
    np.savez(work / mr.LINEAR, odds=np.array(list(found.values())), text=list(found))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    score(args.data, args.work)


if __name__ == "__main__":
    main()
