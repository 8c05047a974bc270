"""What a linear jailbreak model says of texts whose family it has not seen: for fusions with heads that were left out alike.

    python left_out_linear.py --work DIR [--data ../../shared/data]

Rows are those of multilingual_rows.py; their families are left out in the five groups of multilingual_rows.group_of, and the model
is the linear tier with all its n-grams, brought to the calibration of models/jailbreak-linear. Writes --work/left-out-linear.npz:
log odds by the SHA-256 of the text. About ten minutes of one idle core and 5 GB. Goes on where it stopped: each group has a file,
named by the rows that it was made from, and nothing is trained where the result holds all rows. Only train files are read.
"""
import argparse
import hashlib
import json
import pathlib

import numpy as np

import features
import fit
import jailbreak_data as jd
import multilingual_rows as mr
import train_jailbreak_linear as linear

HERE = pathlib.Path(__file__).resolve().parent
# what is made around rows of other sources is in no training here
MADE = dict(jd.MADE, surrounded=0, mixed=0)


def calibration():
    """(shift, temperature) of margins with all n-grams, from those of the shipped table (calibrate_guard.ship_linear)."""
    figures = json.loads((HERE.parent / "models" / "jailbreak-linear" / "train.json").read_text())["figures"]
    a, b = figures["scale"]
    return (figures["shift"] + b) / a, figures["temperature"] / a


def margins(without, groups, x):
    """Of the windows `x` by a model that has not seen the group `without`."""
    mine, y, weight = linear.windows_of(groups != without)
    idf = fit.rarity(mine)
    w, bias = linear.regress(mine, idf, y, weight, linear.CHOICES["rough"])
    return fit.scaled(x, np.ones(len(idf), np.float32), linear.CHOICES["damping"]) @ (w[:, 1] - w[:, 0]) + bias[1] - bias[0]


def is_done(path, texts):
    """The result is there and holds these texts."""
    return path.exists() and set(np.load(path)["text"].tolist()) >= {mr.digest(t) for t in texts}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    rows = mr.jailbreak_rows(args.data)
    group = np.array([mr.group_of(mr.family(r)) for r in rows])
    result = args.work / mr.LINEAR
    if is_done(result, [r.text for r, k in zip(rows, group) if k >= 0]):
        return
    name = hashlib.sha256("".join(mr.digest(r.text) for r in rows).encode()).hexdigest()[:12]
    linear.prepare(args.data, MADE)
    linear.build()
    of = np.array([mr.group_of(mr.family(r)) for r in linear.STATE["rows"]])
    x = fit.presence([features.keys(r.text.encode()) for r in rows], linear.STATE["vocab"])
    shift, temperature = calibration()
    z = np.full(len(rows), np.nan)
    for k in range(mr.GROUPS):
        part = args.work / f"linear-{name}-without-{k}.npy"
        if not part.exists():
            np.save(args.work / "part.npy", margins(k, of, x[np.nonzero(group == k)[0]]))
            (args.work / "part.npy").replace(part)
            print(f"group {k}", flush=True)
        z[group == k] = (np.load(part) + shift) / temperature
    known = np.nonzero(np.isfinite(z))[0]
    np.savez(args.work / "part.npz", odds=z[known], text=[mr.digest(rows[i].text) for i in known])
    (args.work / "part.npz").replace(result)


if __name__ == "__main__":
    main()
