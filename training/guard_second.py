"""What the guard's head of models/neural-multilingual is worth as a second reader of English texts near the threshold, on families left out.

    python guard_second.py --work DIR [--binary ../build/semroute] [--data ../../shared/data]

--work is that of multilingual_guard.py, whose log odds of left-out rows are read. The families are those that no tier knows: neither the
adapters of models/neural nor, by groups, the linear tier and the second reader. Texts whose first log odds are above the threshold, or
at most BAND below, get a weighted sum. The share of the second reader is chosen on the other groups, for every group in turn; "at 3 %" is recall
where harmless families raise a false alarm in 3 % of their texts, "worst" the harmless family with the most of them there. Also prints the shift that keeps the threshold where it is. Writes
nothing but the first classifier's answers, into --work.
"""
import argparse
import json
import pathlib

import numpy as np

import figures_common as common
import multilingual_guard as guard
import multilingual_rows as mr
from left_out_names import OLD

HERE = pathlib.Path(__file__).resolve().parent
SHARES, BAND = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), guard.SECOND["band"]
BANDS = (BAND, 2.5, np.inf)


def neural(args, texts):
    """Log odds by models/neural alone."""
    path = args.work / "first.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    new = [t for t in texts if mr.digest(t) not in known]
    answers = common.classify(args.binary, "jailbreak", new, "neural", "--threads", "1") if new else []
    known.update((mr.digest(t), a["score"]) for t, a in zip(new, answers))
    path.write_text(json.dumps(known))
    p = np.clip([known[mr.digest(t)] for t in texts], 1e-7, 1 - 1e-7)
    return np.log(p / (1 - p))


class English:
    """Rows in English of families that are new to all, by the first judgement and by the second reader."""

    def __init__(self, args):
        every, group = guard.rows(args.data)
        t = guard.Judged(every, guard.left_out(args.work, every, group, None, []), args.work)
        new = np.array([r.source not in OLD and r.source != "requests" and (not r.source.startswith("written") or r.group.startswith(mr.NEW)) for r in every])
        keep = t.of & ~t.judged & new
        fusion = json.loads((HERE.parent / "models" / "neural" / "config.json").read_text())["fusion"]["jailbreak"]
        linear = np.clip(t.linear[keep], -fusion["linear_limit"], fusion["linear_limit"])
        texts = [r.text for r, k in zip(every, keep) if k]
        self.first = (fusion["neural"] * neural(args, texts) + fusion["linear"] * linear + fusion["shift"]) / fusion["temperature"]
        self.second = np.clip(guard.Mixture(t).own(t.z)[keep], -guard.LIMIT, guard.LIMIT)
        self.y, self.family, self.group = t.y[keep], t.family[keep], group[keep]
        self.collected = np.array([not r.source.startswith("written") for r, k in zip(every, keep) if k])

    def found(self, score, use, rate=guard.RATE):
        return guard.by_family(score, self.y, self.family, use, rate)

    def asked(self, threshold, use):
        return np.mean(self.first[use] > threshold - BAND)

    def mixed(self, share, threshold, band=BAND):
        near = self.first > threshold - band
        return np.where(near, (1 - share) * self.first + share * self.second, self.first)


def chosen(e, use, shares):
    """(log odds over the threshold of the other groups, the shares) with the share that was best on the other groups."""
    out, picked = np.zeros(len(e.y)), []
    for g in range(mr.GROUPS):
        others = use & (e.group != g)
        threshold = e.found(e.first, others)["threshold"]
        share = max(shares, key=lambda s: e.found(e.mixed(s, threshold), others)["recall"])
        score = e.mixed(share, threshold)
        out[e.group == g] = (score - e.found(score, others)["threshold"])[e.group == g]
        picked.append(share)
    return out, picked


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    e = English(args.parse_args())
    for name, use in (("collections", e.collected), ("collections and written texts", e.collected | True)):
        for form, shares in (("first alone", (0.0,)), ("with the second reader", SHARES)):
            score, picked = chosen(e, use, shares)
            figures = e.found(score, use)
            print(f"{name}, {int(use.sum())} texts, {form}: {figures['recall']:.1%} at 3 %, worst harmless family {figures['worst']:.1%}, shares {picked}")
    threshold = e.found(e.first, e.collected)["threshold"]
    print(f"collections, the second reader alone: {e.found(e.second, e.collected)['recall']:.1%}")
    for band in BANDS:
        for name, use in (("collections", e.collected), ("collections and written texts", e.collected | True)):
            print(f"{name}, one share for all groups, chosen on no other rows, band {band}: recall at 3 %, worst, recall at 1 %")
            for share in SHARES:
                score = e.mixed(share, threshold, band)
                found = e.found(score, use)
                print(f"    {share}: {found['recall']:.1%}, {found['worst']:.1%}, {e.found(score, use, 0.01)['recall']:.1%}")
    score = e.mixed(guard.SECOND["neural"], threshold)
    print(f"shift at a share of {guard.SECOND['neural']}: {threshold - e.found(score, e.collected)['threshold']:.3f}; "
          f"asked about {e.asked(threshold, e.collected):.0%} of these texts, {e.asked(threshold, e.collected & (e.y == 0)):.0%} of the harmless ones")


if __name__ == "__main__":
    main()
