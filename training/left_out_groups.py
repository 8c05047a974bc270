"""The linear jailbreak model on sources that it was not trained on: five groups of sources, each left out once.

    python left_out_groups.py [--final DIR] [--scores FILE.npz] [--data ../../shared/data] [--without NAME ...] [--choices '{"penalty": 1e-4}'] [--texts NAME ...] [--out FILE.json]

Each family of attacks and each family of harmless texts weighs alike, whatever its number of rows. The threshold is where the
mean rate of false alarms over the left-out harmless families is 3 %; the figure that choices are made by is the mean recall over
the left-out families of attacks there. `--without` takes sources out of training altogether, to see what they are worth.
`--texts` names the folders of texts/ that are learnt besides, others than those of the model that ships (written.LINEAR). Texts that were made around
rows of other sources are left out with any group. No development file is opened.
"""
import argparse
import hashlib
import json
import multiprocessing
import pathlib
import pickle

import numpy as np

import train_jailbreak_linear as linear
import written
from left_out_names import GROUPS, OLD  # noqa: F401, OLD for those who import this

HERE = pathlib.Path(__file__).resolve().parent
RATE = 0.03
LEAST = 20  # rows of a family that is reported


def left_out(names, without):
    rows, of = linear.STATE["rows"], linear.STATE["of"]
    source = np.array([r.source for r in rows])
    out = np.isin(source, names)
    x, y, weight = linear.windows_of(~out & ~np.isin(source, ["made-surrounded", "made-mixed", *without]))
    scale = linear.fit.rarity(x)
    w, bias = linear.regress(x, scale, y, weight, linear.CHOICES["rough"])
    use = np.nonzero(out[of])[0]
    sample = linear.fit.scaled(linear.STATE["x"][use], np.ones(len(scale), np.float32), linear.CHOICES["damping"])
    left, z = np.nonzero(out)[0], sample @ (w[:, 1] - w[:, 0]) + bias[1] - bias[0]
    return left, linear.gather(of[use], z, left), use, z


def final(folder):
    """What train_guard_head.py ships and measures: the model of all sources, and the margins of the last group's windows by a
    model with its table that was trained without that group."""
    rows, last = linear.STATE["rows"], GROUPS[-1]
    source = np.array([r.source for r in rows])
    (folder / "final.pickle").write_bytes(pickle.dumps((linear.train(np.ones(len(rows), bool)), linear.STATE["inputs"])))
    out = np.isin(source, last)
    use, z = linear.score(linear.train(~out & ~np.isin(source, ["made-surrounded", "made-mixed"])), np.nonzero(out)[0])
    np.savez(folder / "group4.npz", use=use, z=z)


def table(rows, scores, rate=RATE):
    """Families with their rates at the threshold where harmless families raise a false alarm at `rate`, and the two means."""
    families = {}
    for row, score in zip(rows, scores):
        families.setdefault((row.label, row.source), []).append(score)
    families = {k: np.array(v) for k, v in families.items() if len(v) >= LEAST}
    harmless = [v for (label, _), v in families.items() if not label]
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean([(v >= middle).mean() for v in harmless]) > rate else (low, middle)
    rates = {f"{'attack' if k[0] else 'harmless'} {k[1]}": [len(v), round(float((v >= high).mean()), 3)] for k, v in sorted(families.items())}
    mean = {name: round(float(np.mean([v[1] for k, v in rates.items() if k.startswith(name)])), 4) for name in ("attack", "harmless")}
    return {"threshold": round(high, 3), "mean_recall": mean["attack"], "mean_false_alarms": mean["harmless"],
            "worst_harmless": max(v[1] for k, v in rates.items() if k.startswith("harmless")), "families": rates}


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--without", nargs="*", default=[])
    args.add_argument("--choices", type=json.loads, default={}, help="changes of the fit (train_jailbreak_linear.CHOICES['rough'])")
    args.add_argument("--out", type=pathlib.Path)
    args.add_argument("--scores", type=pathlib.Path, help="also write the margins of all windows here (npz); NaN: of no group")
    args.add_argument("--final", type=pathlib.Path, help="also train the model of all sources, and one of four groups, with their tables: a folder")
    args.add_argument("--texts", nargs="*", metavar="NAME", help="folders of texts/ in the place of written.LINEAR; writes no model")
    args.add_argument("--workers", type=int, default=2)
    args = args.parse_args()
    if args.texts is not None and (args.final or args.scores):
        raise SystemExit("--texts only measures")
    further = written.LINEAR if args.texts is None else tuple(written.FOLDER / name for name in args.texts)
    linear.CHOICES["rough"].update(args.choices)
    rows, _, linear.STATE["inputs"] = linear.prepare(args.data, further=further)
    linear.build()
    scored, windows = {}, np.full(len(linear.STATE["of"]), np.nan)
    with multiprocessing.get_context("fork").Pool(args.workers) as pool:
        for left, z, use, each in pool.starmap(left_out, [(group, args.without) for group in GROUPS], 1):
            scored.update(zip(left.tolist(), z.tolist()))
            windows[use] = each
    if args.final:
        args.final.mkdir(parents=True, exist_ok=True)
        final(args.final)
    if args.scores:
        np.savez(args.scores, of=linear.STATE["of"], windows=windows, text=[hashlib.sha256(r.text.encode()).hexdigest() for r in rows])
    found = table([rows[i] for i in scored], list(scored.values()))
    print(json.dumps(found, indent=1))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
