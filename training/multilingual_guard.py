"""Trains the guard's part of models/neural-multilingual, adapters in the upper layers of multilingual-e5-small and a head, and writes
docs/quality/multilingual.{md,json}.

    python multilingual_guard.py --work DIR [--groups 0 1 ...] [--threads N] [--binary ../build/semroute] [--data ../../shared/data]

Needs torch 2. Each group of families (multilingual_rows.group_of) is left out once and asked about; then everything is trained on. Each
of these models is trained four times: on all rows but those of multilingual_rows.later_rows, then on each folder of these with others
beside them. All of this is kept in --work and goes on where it stopped: an hour of one core a group, an hour and a half for the whole, 7 minutes
of both before them for the frozen layers' states, which are kept too. The log odds of left-out rows by the run whose model ships are in
left_out/multilingual, and are used while CHOICES are the same: so a new linear tier is mixed with that model in a minute. Remove that
folder to train anew on other texts.
`--groups` trains those alone and writes no model (without numbers: only the states): two processes can share the work.
How the answers are mixed with the linear tier, and what 0.7 means, is chosen on the families left out, the linear tier being one that
does not know them either. The other heads of the folder stay. texts/multilingual_test is read only after everything is chosen. No
development file is opened.
"""
import argparse
import collections
import json
import pathlib
import random
import re
import shutil

import numpy as np
import torch

import data
import figures_multilingual
import jailbreak_data as jd
import left_out_linear
import multilingual_adapters as adapters
import multilingual_heads as heads
import multilingual_rows as mr
import multilingual_trunk as trunk
import passages
import written

HERE = pathlib.Path(__file__).resolve().parent
KEPT = HERE / "left_out" / "multilingual"    # log odds of left-out rows by the run whose model ships, and its CHOICES
RISK = (HERE.parent / "src" / "signal" / "guard" / "risk.h").read_text()
RATE, POINT, LEAST = 0.03, 0.7, 20
IN_ROLE = 0.004   # of personas and prompts in the system role, as in calibrate_system.py
SHARES, LIMIT, NEAR = np.arange(0.3, 1.01, 0.1), 4.0, 0.005   # of mixtures that these rows cannot tell apart the one with most of this head
CHOICES = {"first": 6, "rank": 8, "alpha": 16, "rate": 1e-3, "epochs": 3.0, "warmup": 0.04, "decay": 0.05, "smoothing": 0.02, "batch": 4096,
           "unsure": 0.1, "again": 0.3, "tokens": 212, "judged": 1.5, "average": 0.01, "sliding": trunk.SLIDING, "step": trunk.STEP, "seed": 7,
           # each later training: of a folder of written.LATER and so many others; what goes on lies between the model before and the new one
           "later": {"rate": 5e-4, "epochs": 2.0, "others": 6000, "share": 0.5}}
TRAININGS = ("first", "second", "third", "fourth")   # names of their files
# English texts of at most so many tokens whose log odds are above the threshold, or at most `band` below (guard_second.py and
# guard_second_longer.py measure it); over 3 KiB risk.h has its own rule
SECOND = {"first": 0.5, "neural": 0.5, "shift": 0.25, "temperature": 1.0, "band": 1.5, "tokens": 1024}
MIXED = 1000      # windows of long prompts made of a group's rows; half of them with an attack
PIECES = 500     # pieces of a group's harmless rows, each read by itself
AMONG, SHORT = 700, 150     # such windows of a group in the last training; tokens of an attack there


def rows(root):
    """(rows, the group of each): those of multilingual_rows, windows of several texts of one group, pieces of harmless ones, and at last
    those of the later trainings, with windows of their own for the last one."""
    out = mr.guard_rows(root)
    group = [mr.group_of(mr.family(r)) for r in out]
    made, of = [], []
    for g in range(mr.GROUPS):
        rng, mine = random.Random(f"mixed {g}"), [r for r, k in zip(out, group) if k == g]
        pools = [[r.text for r in mine if not r.label and r.source == s] for s in sorted({r.source for r in mine if not r.label})]
        made += windows(rng, pools, [r.text for r in mine if r.label], MIXED, f"mix {g}")
        of += [g] * MIXED
        pieces = [(r, p) for r in mine if not r.label for p in passages.pieces(r.text)[1:]]
        for i, (r, text) in enumerate(random.Random(f"pieces {g}").sample(pieces, min(PIECES, len(pieces)))):
            made.append(mr.Row("jailbreak", "made-pieces", text, 0, r.lang, "piece", f"piece {g} {i}", mr.is_foreign(text), 0.5))
            of.append(g)
    later = mr.later_rows()
    at = [mr.group_of(mr.family(r)) for r in later]
    last = []
    for g in range(mr.GROUPS):
        mine, pools = [r for r, k in zip(later, at) if k == g], collections.defaultdict(list)   # by author
        for r in mine:
            if not r.label:
                pools[r.group.rsplit(" ", 1)[0]].append(r.text)
        short = [r.text for r in mine if r.label and jd.size(r.text) <= SHORT]
        last += windows(random.Random(f"among {g}"), pools.values(), short, AMONG, f"{mr.LATER[-1]}mixed {g}")
        at += [g] * AMONG
    return out + made + later + last, np.array(group + of + at)


def windows(rng, pools, attacks, n, name):
    """Windows of long prompts: harmless texts of one pool, in every other one an attack among them."""
    pools = [p for p in pools if len(p) >= 20]
    return [mr.Row("jailbreak", "made-mixed", jd.mixed(rng, pools, rng.choice(attacks) if i % 2 else None), i % 2, "en", "mixed", f"{name} {i}", False, 0.5)
            for i in range(n)]


def texts_of(every, work):
    """Those of each training have states of their own."""
    return adapters.Joined([adapters.Texts([r.text for r in every if mr.training_of(r) == k], work, CHOICES) for k in range(len(TRAININGS))])


def weights(every, y):
    """Families weigh by the root of their size, those of other languages more."""
    part = [(mr.family(r), r.label) for r in every]
    count = collections.Counter(part)
    return np.array([r.weight ** 0.5 / count[p] ** 0.5 * (CHOICES["judged"] if heads.is_judged(r) else 1.0) for r, p in zip(every, part)])


def once(texts, every, mine, choices, model=None):
    """Adapters and head of the rows `mine`; both labels weigh alike."""
    y = np.array([r.label for r in every])
    own = weights(every, y)
    for label in (0, 1):
        own[mine[y[mine] == label]] *= len(mine) / 2 / own[mine[y[mine] == label]].sum()
    return adapters.train(texts, y, own, mine, choices, model)


def train(texts, every, mine, kept):
    """All trainings, whose models the files `kept` hold: of all rows but the later ones; then, for each folder of those, of its rows with
    others beside them. Means of the weights of both models: each finds what the other has not learnt or has forgotten."""
    of, choices = np.array([mr.training_of(r) for r in every]), CHOICES["later"]
    for k, path in enumerate(kept):
        if any(p.exists() for p in kept[k:]):
            continue
        if k == 0:
            heads.save(path, adapters.trained(once(texts, every, mine[of[mine] == 0], CHOICES)))
            continue
        before = sorted(mine[of[mine] < k], key=lambda i: data.chance(every[i].text, f"{TRAININGS[k]} training"))[:choices["others"]]
        model = once(texts, every, np.array(sorted([*before, *mine[of[mine] == k]])), {**CHOICES, **choices}, adapters.load(kept[k - 1], CHOICES))
        heads.save(path, adapters.trained(adapters.between(adapters.load(kept[k - 1], CHOICES), model, choices["share"])))
    return adapters.load(kept[-1], CHOICES)


def files(work, name):
    return [work / f"{training}{name}.safetensors" for training in TRAININGS]


def left_out(work, every, group, texts, groups):
    """Log odds of rows by a model that does not know their group; NaN: of none, or of groups that are not there yet."""
    found, known = {}, [mr.digest(r.text) for r in every]
    for g in range(mr.GROUPS):
        asked = np.array([i for i in np.nonzero(group == g)[0] if not is_made(every[i])])
        path = work / f"group{g}.npz"
        if not path.exists() and is_kept():
            path = KEPT / path.name
        if not path.exists() and g in groups:
            model = train(texts, every, np.nonzero(group != g)[0], files(work, g))
            np.savez_compressed(path, odds=adapters.ask(model, texts, asked).astype(np.float32), text=np.array([known[i] for i in asked], "S"))
            print(f"group {g}", flush=True)
        if path.exists():
            file = np.load(path)
            found.update(zip(file["text"].astype(str).tolist(), file["odds"].tolist()))
    return np.array([found.get(d, np.nan) for d in known])


def is_made(row):
    """From our own frames, of rows of other sources, or a part of a row: never judged."""
    return row.source.startswith("made-")


def is_kept():
    """Whether the model that ships is one of these CHOICES."""
    return (KEPT / "choices.json").exists() and json.loads((KEPT / "choices.json").read_text()) == CHOICES


def keep(work):
    """Puts the log odds of a whole run where the next one finds them, so that what is mixed with them can be chosen without training."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for g in range(mr.GROUPS):
        if (work / f"group{g}.npz").exists():
            shutil.copyfile(work / f"group{g}.npz", KEPT / f"group{g}.npz")
    (KEPT / "choices.json").write_text(json.dumps(CHOICES) + "\n")


def final(work, every, texts, mixture):
    """The model of all rows."""
    if is_kept() and not any(p.exists() for p in files(work, "")):
        return shipped(mixture)
    return train(texts, every, np.arange(len(every)), files(work, ""))


def shipped(mixture):
    """The model that ships, as `ship` was given it."""
    model = adapters.model_of(CHOICES)
    tensors = heads.load(heads.MODEL / "adapters.safetensors")
    tensors["jailbreak.out.bias"] = tensors["jailbreak.out.bias"] - mixture.bias()
    model.take(tensors)
    return model.eval()


# ---- mixture and calibration ----

def log_odds(p):
    return float(np.log(p / (1 - p)))


def auc(score, y, keep):
    keep = keep & np.isfinite(score)
    score, y = score[keep], y[keep]
    order = np.argsort(score, kind="stable")
    rank = np.empty(len(score))
    rank[order] = np.arange(1, len(score) + 1)
    n = y.sum()
    return float((rank[y == 1].sum() - n * (n + 1) / 2) / (n * (len(y) - n))) if 0 < n < len(y) else float("nan")


def by_family(score, y, families, keep, rate=RATE):
    """(threshold where harmless families raise `rate` on the mean, mean recall over attack families, worst harmless family)"""
    of = collections.defaultdict(list)
    keep = keep & np.isfinite(score)
    for s, label, f in zip(score[keep], y[keep], np.array(families)[keep]):
        of[(int(label), f)].append(s)
    of = {k: np.array(v) for k, v in of.items() if len(v) >= LEAST}
    harmless = [v for k, v in of.items() if not k[0]]
    low, high = float(np.nanmin(score)) - 1, float(np.nanmax(score)) + 1
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.mean([(v >= middle).mean() for v in harmless]) > rate else (low, middle)
    rates = {f"{'attack' if k[0] else 'harmless'} {k[1]}": [len(v), round(float((v >= high).mean()), 3)] for k, v in sorted(of.items())}
    recall = float(np.mean([r[1] for k, r in rates.items() if k.startswith("attack")]))
    return {"threshold": high, "recall": recall, "worst": max(r[1] for k, r in rates.items() if k.startswith("harmless")), "families": rates}


def slope(z, y, w):
    """The factor that makes `z`, which is 0 at the threshold, the best log odds; the odds at the threshold stay those of POINT."""
    odds, best = log_odds(POINT), None
    for factor in np.exp(np.linspace(-3, 2, 101)):
        loss = float((w * np.logaddexp(0, np.where(y == 1, -1, 1) * (factor * z + odds))).sum())
        best = min(best or (loss, factor), (loss, factor))
    return best[1]


class Judged:
    """Left-out rows and all that is known of them."""

    def __init__(self, every, z, work):
        self.rows, self.z = every, z
        self.y = np.array([r.label for r in every])
        self.family = np.array([mr.counted(mr.family(r)) for r in every])
        self.lang = np.array([r.lang for r in every])
        self.foreign = np.array([r.foreign for r in every])
        self.linear = mr.linear(work, [r.text for r in every])
        self.of = np.isfinite(z) & np.isfinite(self.linear) & np.array([not is_made(r) for r in every])
        self.judged = self.of & np.array([heads.is_judged(r) for r in every])
        self.w = weights(every, self.y)
        for label in (0, 1):
            self.w[self.y == label] /= self.w[self.judged & (self.y == label)].sum()


class Mixture:
    """How log odds of the head become its own at POINT, and those of both tiers; chosen on the judged rows."""

    def __init__(self, t):
        self.threshold = by_family(t.z, t.y, t.family, t.judged)["threshold"]
        self.factor = slope(t.z[t.judged] - self.threshold, t.y[t.judged], t.w[t.judged])
        found = {}
        for share in SHARES:
            score = share * self.own(t.z) + (1 - share) * np.clip(t.linear, -LIMIT, LIMIT)
            found[round(float(share), 1)] = by_family(score, t.y, t.family, t.judged)
        best = max(f["recall"] for f in found.values())
        share = max(s for s, f in found.items() if f["recall"] >= best - NEAR)
        score = share * self.own(t.z) + (1 - share) * np.clip(t.linear, -LIMIT, LIMIT) - found[share]["threshold"]
        factor = slope(score[t.judged], t.y[t.judged], t.w[t.judged])
        self.fusion = {"neural": share, "linear": round(1 - share, 1), "shift": round(log_odds(POINT) / factor - found[share]["threshold"], 4) + 0.0,
                       "temperature": round(1 / factor, 4), "linear_limit": LIMIT}
        self.compared = {str(s): [round(f["recall"], 3), f["worst"]] for s, f in found.items()}

    def own(self, z):
        return (z - self.threshold) * self.factor + log_odds(POINT)

    def bias(self):
        """What makes the head's own log odds those of POINT at the threshold, before they are divided by the temperature."""
        return torch.tensor([0.0, log_odds(POINT) / self.factor - self.threshold])

    def of(self, z, linear):
        """Log odds of both tiers for any rows."""
        f = self.fusion
        return (f["neural"] * self.own(z) + f["linear"] * np.clip(linear, -LIMIT, LIMIT) + f["shift"]) / f["temperature"]


# ---- figures ----

def share_of(score, y, threshold):
    return round(float((score[y == 1] >= threshold).mean()), 3), round(float((score[y == 0] >= threshold).mean()), 3)


def languages(t, scores, found):
    """A row for each language with enough texts: AUC by each score, and what each finds at its threshold."""
    out = {}
    for lang, n in collections.Counter(t.lang[t.judged].tolist()).most_common():
        keep = t.judged & (t.lang == lang)
        n_attacks = int(t.y[keep].sum())
        if n_attacks >= 15 and n - n_attacks >= 15:
            out[lang] = {"texts": n, "attacks": n_attacks, **{name: {"auc": round(auc(z, t.y, keep), 3), "found": share_of(z[keep], t.y[keep], found[name]["threshold"])}
                                                              for name, z in scores.items()}}
    return out


def at_point(z, t, keep, threshold):
    """Mean recall, mean rate of false alarms over families and the worst of these at a fixed threshold."""
    of = collections.defaultdict(list)
    for s, label, f in zip(z[keep], t.y[keep], t.family[keep]):
        of[(int(label), f)].append(s >= threshold)
    rates = {label: [float(np.mean(v)) for k, v in of.items() if k[0] == label and len(v) >= LEAST] for label in (0, 1)}
    return {"recall": round(float(np.mean(rates[1])), 3), "false_alarms": round(float(np.mean(rates[0])), 3), "worst": round(max(rates[0]), 3)}


def measure(t, scores):
    kinds = {"all": t.judged, "other scripts": t.judged & t.foreign, "Latin script": t.judged & ~t.foreign}
    found = {name: {k: by_family(v, t.y, t.family, keep) for k, v in scores.items()} for name, keep in kinds.items()}
    return {"kinds": {name: {"texts": int(keep.sum()), "attacks": int(t.y[keep].sum()), "at_point": at_point(scores["both"], t, keep, log_odds(POINT)),
                             **{k: {"auc": round(auc(v, t.y, keep), 3), "recall": round(found[name][k]["recall"], 3), "worst": found[name][k]["worst"]}
                                for k, v in scores.items()}} for name, keep in kinds.items()},
            "families": found["all"]["both"]["families"], "languages": languages(t, scores, found["all"])}


def apart(args, model, mixture):
    """What is found of texts/multilingual_test by kind and script, with the linear tier that ships."""
    records = written.read(written.FOLDER / "multilingual_test")
    texts = [r.text for r in records]
    z = mixture.of(adapters.ask(model, adapters.Texts(texts, args.work, CHOICES), np.arange(len(texts))), mr.shipped_linear(args.binary, texts))
    out = {}
    for place, foreign in (("other scripts", True), ("Latin script", False)):
        for kind in ("hidden_test", "direct_test", "carrier", "lookalike"):
            at = np.array([r.kind == kind and mr.is_foreign(r.text) == foreign for r in records])
            if at.any():
                out[f"{kind}, {place}"] = [int(at.sum()), round(float((z[at] >= log_odds(POINT)).mean()), 3)]
    return out


def constant(name):
    return float(re.search(rf"#define SR_RISK_{name}\s+([0-9.]+)", RISK).group(1))


def in_system_role(t, z):
    """What SR_RISK_SYSTEM_OTHER is chosen by: {"shift", "sources": {source: [texts, share at the threshold, share in the system role]},
    "attacks": the same, mean over families}. The shift is the smallest in steps of 0.05 where IN_ROLE of personas and prompts remain,
    as the mean over the sources."""
    of = {name: z[(t.family == name) & t.judged] for name in ("benign-lobe-agents", "benign-prompts-zh")}
    shift = min(s for s in np.arange(0, 6, 0.05) if np.mean([(v >= log_odds(POINT) + s).mean() for v in of.values()]) <= IN_ROLE)
    chosen = constant("SYSTEM_OTHER")
    return {"shift": round(float(shift), 2), "used": chosen, "rate": IN_ROLE,
            "sources": {name: [len(v), *(round(float((v >= log_odds(POINT) + s).mean()), 4) for s in (0, chosen))] for name, v in of.items()},
            "attacks": [int((t.judged & (t.y == 1)).sum()), *(at_point(z, t, t.judged, log_odds(POINT) + s)["recall"] for s in (0, chosen))]}


def in_long_texts(t, z):
    """{windows: [mean share of harmless texts of so many windows of a family with one over the bar, without the shift for long texts and
    with it; share of found attacks that fall under the bar by it]}"""
    rng, out, of, bar = np.random.default_rng(CHOICES["seed"]), {}, collections.defaultdict(list), log_odds(POINT)
    for f, v, label in zip(t.family[t.judged], z[t.judged], t.y[t.judged]):
        of[(int(label), f)].append(v)
    for windows in (1, 5, 10, 37):
        stretches = windows * 750 / constant("STRETCH")
        shift = min(constant("LONG_MOST"), constant("LONG_SHIFT") * np.log(stretches)) if stretches >= constant("LONG_FROM") else 0.0
        top = [np.array(v)[rng.integers(len(v), size=(400, windows))].max(1) for (label, _), v in of.items() if not label and len(v) >= LEAST]
        found = [np.array(v)[np.array(v) >= bar] for (label, _), v in of.items() if label and len(v) >= LEAST]
        out[str(windows)] = [*(round(float(np.mean([(v >= bar + s).mean() for v in top])), 3) for s in (0.0, shift)),
                             round(float(np.mean([(v < bar + shift).mean() for v in found if len(v)])), 3)]
    return out


def ship(model, mixture, folder=heads.MODEL):
    """Adapters, head and mixture into a folder; the threshold is the log odds of POINT, the rest the temperature."""
    tensors = model.export()
    tensors["jailbreak.out.bias"] = tensors["jailbreak.out.bias"] + mixture.bias()
    pooling = {"pooling": "sliding", "width": CHOICES["sliding"], "step": CHOICES["step"]}
    heads.put("jailbreak", tensors, heads.settings("jailbreak", 1 / mixture.factor, dense=False, adapted=True, pooling=pooling), mixture.fusion,
              {"r": CHOICES["rank"], "lora_alpha": CHOICES["alpha"], "target_modules": sorted(trunk.LINEARS.values())}, SECOND, folder)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--groups", type=int, nargs="*")
    args.add_argument("--threads", type=int, default=1)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    every, group = rows(args.data)
    texts = texts_of(every, args.work)
    if args.groups == []:
        return print(f"{sum(len(part.states) for part in texts.parts)} tokens")
    z = left_out(args.work, every, group, texts, range(mr.GROUPS) if args.groups is None else args.groups)
    if args.groups is not None:
        return
    if not (args.work / mr.LINEAR).exists():
        left_out_linear.score(args.data, args.work)
    t = Judged(every, z, args.work)
    mixture = Mixture(t)
    model = final(args.work, every, texts, mixture)
    both = mixture.of(t.z, t.linear)
    figures = {"choices": {**CHOICES, "groups": mr.GROUPS}, "rows": len(every), "fusion": mixture.fusion, "mixtures": mixture.compared,
               "jailbreak": measure(t, {"head": mixture.own(t.z), "both": both}), "system": in_system_role(t, both), "long": in_long_texts(t, both),
               "apart": apart(args, model, mixture)}
    ship(model, mixture)
    keep(args.work)
    figures_multilingual.write(figures)


if __name__ == "__main__":
    main()
