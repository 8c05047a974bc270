"""Calibrates the guard as a whole on sources that its tiers were not trained on, and writes what ships.

    python calibrate_guard.py --work DIR --scores FILE --linear DIR --out FILE [--data ../../shared/data]

`--work` holds what guard_margins.py wrote, `--scores` and `--linear` what left_out_groups.py wrote. The linear tier is judged on
families of sources that were left out in turn, the neural classifier, whose head stays, and both together on those of them
that it was never trained on. A probability of 0.7 is where the harmless families raise a false alarm in 3 % of their texts, as
the mean over families. Writes models/jailbreak-linear, the calibrations in models/neural, and the log odds for
calibrate_system.py. Only train files are read.
"""
import argparse
import hashlib
import json
import pathlib
import pickle

import numpy as np
import torch
from safetensors.torch import load_file, save_file

import guard_margins
import jailbreak_data as jd
import left_out_groups as groups
import neural_files
import written

HERE = pathlib.Path(__file__).resolve().parent


class Rows:
    """Windows of the rows that guard_margins.py read, sorted by row."""

    def __init__(self, work, rows):
        parts = [np.load(p) for p in sorted(work.glob("[0-9]*.npz"))]
        take = lambda name: np.concatenate([p[name] for p in parts])  # noqa: E731
        row = take("row")
        order = np.argsort(row, kind="stable")
        self.margin, self.place = take("margin")[order], take("place")[order]
        self.index, self.of = np.unique(row[order], return_inverse=True)
        self.rows = [rows[i] for i in self.index]
        known = dict(zip(row.tolist(), take("text").tolist()))
        if any(known[i] != hashlib.sha256(r.text.encode()).hexdigest() for i, r in zip(self.index, self.rows)):
            raise SystemExit("the rows are others than those that were read: run guard_margins.py again")
        self.y = np.array([r.label for r in self.rows])
        self.source = np.array([r.source for r in self.rows])


def gather(rows, windows):
    top = np.full(len(rows.rows), -np.inf)
    np.maximum.at(top, rows.of, np.nan_to_num(windows, nan=-np.inf))
    return top


def judged(rows, score, keep):
    """left_out_groups.table of the rows `keep`."""
    use = np.nonzero(keep & np.isfinite(score))[0]
    return groups.table([rows.rows[i] for i in use], score[use])


def both(rows, name, score):
    families, new = families_of(rows), families_of(rows, new=True)
    a, b = judged(rows, score, families), judged(rows, score, new)
    print(f"{name}: all families {a['mean_recall']:.4f} (worst {a['worst_harmless']}), new to the adapters {b['mean_recall']:.4f} (worst {b['worst_harmless']})", flush=True)
    return a, b


POINT = 0.7
ODDS = float(np.log(POINT / (1 - POINT)))
SHARES, LIMITS = np.arange(0.2, 0.81, 0.1), (4.0, 8.0)
NEAR = 0.005   # recall that these rows cannot tell apart: of such mixtures the one with most of the neural classifier


class Linear:
    """The linear tier's windows of the same rows, and which of them overlap which of the neural classifier's."""

    def __init__(self, path, rows):
        scores = np.load(path)
        self.z, of = scores["windows"], scores["of"]
        first = np.searchsorted(of, np.arange(len(scores["text"]) + 1))
        begin = np.searchsorted(rows.of, np.arange(len(rows.rows) + 1))
        pairs = []
        for n, (i, row) in enumerate(zip(rows.index, rows.rows)):
            if np.isnan(self.z[first[i]]) if i + 1 < len(first) else True:
                continue   # of no group
            for k, (a, b) in enumerate(jd.places(row.text)):
                near = np.arange(begin[n], begin[n + 1])
                near = near[(rows.place[near, 0] < b) & (rows.place[near, 1] > a)] if begin[n + 1] - begin[n] > 1 else near
                pairs += [(n, first[i] + k, m) for m in near if a < guard_margins.READ]
        self.row, self.window, self.neural = np.array(pairs).T

    def gather(self, rows, values):
        """The highest of each row's pairs."""
        top = np.full(len(rows.rows), -np.inf)
        np.maximum.at(top, self.row, np.nan_to_num(values, nan=-np.inf))
        return top


def families_of(rows, new=False):
    """Marks the rows of families that are left out in turn; `new`: of those that the adapters do not know either."""
    families = np.isin(rows.source, [n for g in groups.GROUPS for n in g])
    return families & ~np.isin(rows.source, list(groups.OLD)) if new else families


def calibration(rows, score, new=True):
    """(shift, temperature) that make POINT the threshold where harmless families that the tier was not trained on raise a false
    alarm at groups.RATE; the temperature has the least log loss, families alike."""
    import train_jailbreak_linear as linear
    families = families_of(rows, new)
    use = np.nonzero(families & np.isfinite(score))[0]
    threshold = judged(rows, score, families)["threshold"]
    names = np.array([f"{rows.source[i]} {rows.y[i]}" for i in use])
    _, which, count = np.unique(names, return_inverse=True, return_counts=True)
    t, shift = linear.calibrate(score[use], rows.y[use], 1.0 / count[which], threshold, POINT)
    return float(shift), float(t)


def mixed(neural, lin, share, limit):
    return share * neural + (1 - share) * np.clip(lin, -limit, limit)


def fuse(rows, other, windows):
    """The tiers' calibrations and their mixture, and the log odds of every row."""
    ns, nt = calibration(rows, gather(rows, windows))
    ls, lt = calibration(rows, other.gather(rows, other.z[other.window]), new=False)
    n, l = (windows[other.neural] + ns) / nt, (other.z[other.window] + ls) / lt
    tried = []
    for limit in LIMITS:
        for share in SHARES:
            score = other.gather(rows, mixed(n, l, share, limit))
            _, b = both(rows, f"share {share:.1f} limit {limit:.0f}", score)
            tried.append((b["mean_recall"], share, limit))
    _, share, limit = max((t for t in tried if t[0] >= max(tried)[0] - NEAR), key=lambda t: (t[1], -t[2]))
    score = other.gather(rows, mixed(n, l, share, limit))
    shift, t = calibration(rows, score)
    return {"neural": (ns, nt), "linear": (ls, lt), "fusion": {"neural": round(float(share), 3), "linear": round(float(1 - share), 3), "shift": round(shift, 4),
            "temperature": round(t, 4), "linear_limit": limit}}, (score + shift) / t, n, l


def ship_neural(found):
    """The calibrations into models/neural; the adapters and the heads' weights stay as they are."""
    out = HERE.parent / "models" / "neural"
    shift, t = found["neural"]
    tensors = load_file(str(out / "adapters.safetensors"))
    tensors["jailbreak.out.bias"] = (tensors["jailbreak.out.bias"].float() + torch.tensor([-shift / 2, shift / 2])).to(torch.bfloat16)
    save_file(tensors, str(out / "adapters.safetensors"), metadata={"format": "pt"})
    config = json.loads((out / "config.json").read_text())
    config["heads"]["jailbreak"]["temperature_alone"] = round(t, 4)
    config["fusion"]["jailbreak"] = found["fusion"]
    (out / "config.json").write_text(neural_files.to_bytes(config))
    neural_files.manifest(out)


def scale_of(rough, table):
    """(a, b): margins of the model with its table are about a * margins with all n-grams + b, by rows that neither has seen."""
    use = np.isfinite(rough)
    a = float(np.cov(rough[use], table[use])[0, 1] / np.var(rough[use]))
    return a, float(table[use].mean() - a * rough[use].mean())


def ship_linear(model, inputs, found, scale, harmful, figures):
    """The linear model with the calibration of the left-out sources, brought to the scale of its table."""
    import train_jailbreak_linear as linear
    (ls, lt), (a, b) = found["linear"], scale
    figures.update(temperature=a * lt, shift=a * ls - b, scale=[round(a, 4), round(b, 4)])
    linear.ship(model, figures["temperature"], figures["shift"], HERE.parent / "models" / "jailbreak-linear", harmful, inputs, figures)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--scores", required=True, type=pathlib.Path)
    args.add_argument("--linear", required=True, type=pathlib.Path, help="folder of what left_out_groups.py --final wrote")
    args.add_argument("--out", required=True, type=pathlib.Path, help="log odds of the rows that were left out (npz), for calibrate_system.py")
    args = args.parse_args()
    all_rows, harmful, _ = jd.load(args.data, further=written.LINEAR)
    rows = Rows(args.work, all_rows)
    other = Linear(args.scores, rows)
    windows = rows.margin.astype(float)
    found, score, neural, lin = fuse(rows, other, windows)
    print(json.dumps(found, indent=1), flush=True)
    families, new = families_of(rows), families_of(rows, new=True)
    tables = {name: {"all": judged(rows, s, families), "new": judged(rows, s, new)} for name, s in
              (("linear", other.gather(rows, lin)), ("neural", gather(rows, (windows + found["neural"][0]) / found["neural"][1])), ("both", score))}
    scores = np.load(args.scores)
    ls, lt = found["linear"]
    top = np.full(len(scores["text"]), -np.inf)
    np.maximum.at(top, scores["of"], np.nan_to_num((scores["windows"] + ls) / lt, nan=-np.inf))
    both_of = np.full(len(top), np.nan)
    both_of[rows.index[families]] = score[families]
    np.savez(args.out, text=scores["text"], linear=np.where(np.isfinite(top), top, np.nan), both=both_of)
    model, inputs = pickle.loads((args.linear / "final.pickle").read_bytes())
    part = np.load(args.linear / "group4.npz")
    whole = groups.table([r for r, z in zip(all_rows, top) if np.isfinite(z)], top[np.isfinite(top)])
    ship_linear(model, inputs, found, scale_of(scores["windows"][part["use"]], part["z"]), harmful, {"left_out": whole})
    ship_neural(found)
    path = HERE.parent / "models" / "neural" / "train.json"
    report = json.loads(path.read_text())
    report["guard"] = {"rows": len(rows.rows), "windows": len(rows.of), "left_out": tables, "calibration": found}
    path.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
