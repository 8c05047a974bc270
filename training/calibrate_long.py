"""Long texts: harmless ones that are taken for attacks, and attacks that are found alone and lost among harmless text, by length.

    python calibrate_long.py --work DIR --second DIR [--data ../../shared/data] [--binary ../build/semroute] [--out ../docs/quality] [--again]

Families that neither tier was trained on: the neural classifier never was, the linear tier is trained anew without a group of
sources (left_out_groups.GROUPS) and asked about it, and so is the second reader, by the models of multilingual_guard.py in --second, in
groups that hold these. Long texts are rows of one family, joined; attacks stand in those of the same group. "Before" is the rule of short texts: the highest fused window counts. "Now" is long_risk in src/signal/guard/risk.c, whose
constants are read from risk.h; the last table is what they were chosen by. Slow parts are kept in --work. All families are read by the
first neural classifier here; those that are mostly not in English, which the product gives to the one of other languages, are also left
out of the means. `--again` only writes the page again from long.json. Only train files are read.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import random
import re
import statistics

import numpy as np

import features
import figures_common as common
import jailbreak_data as jd
import left_out_groups as groups
import multilingual_rows as mr
import passages
import second_reader
import table
import train_jailbreak_linear as linear
import trunk

HERE = pathlib.Path(__file__).resolve().parent
HEADER = (HERE.parent / "src" / "signal" / "guard" / "risk.h").read_text()
SHIPPED = json.loads((HERE.parent / "models" / "jailbreak-linear" / "train.json").read_text())["figures"]
FUSION = json.loads((HERE.parent / "models" / "neural" / "config.json").read_text())["fusion"]["jailbreak"]
GROUP = {name: k for k, names in enumerate(groups.GROUPS) for name in names if name not in groups.OLD}
SECOND = json.loads((HERE.parent / "models" / "neural-multilingual" / "config.json").read_text())["fusion"]["jailbreak_second"]
ODDS = float(np.log(common.THRESHOLD / (1 - common.THRESHOLD)))
LENGTHS = {1: 5, 2: 10, 8: 37, 32: 150}   # thousands of tokens: windows of the neural classifier
JOINTS = ["\n\n", "\n\n", "\n", "\n\n---\n\n", "\n- ", "\n\nuser: ", " ", "\n\n"]
POOL, ALONE, ATTACKS, PIECE, BESIDE = 24000, 120, 60, 4000, 2200   # characters of a long text; rows; characters of a row; beside an attack
DRAWN, PLANTED = 150, 3    # long texts of a family and length; carriers of an attack
SHIFTS = (0.0, 0.06, 0.12, 0.2, 0.3)
WORDS = """
A long text has many windows, and each can be wrong. Here harmless rows of a family of sources are joined to texts of 1K to
32K tokens, with blank lines, lines, list marks, turns or blanks between them, and attacks stand on lines of their own between
two rows. "Lost" is an attack that is found alone and whose windows are under the bar among harmless text; a false alarm
elsewhere in the text does not count as found. Neither tier was trained on any of these families; each weighs alike.

Before: the highest window of both tiers together, as in short texts. First reader, from 3 KiB on: windows of the neural
classifier with passages of the linear tier, with the passages that both tiers read alone, and a bar that rises with the
logarithm of the length (`src/signal/guard/risk.h`). Now: also with the second reader of the windows that decide, at most
eight of a request, by models that do not know the family; where more are over the bar it is not asked. The goals (harmless
long texts at most 1.5 times as often as short ones, at most 5 % of attacks lost) are missed: at this recall the scores of
attacks and of harmless windows overlap too much, and what the bar takes from one it takes from the other.

The second reader's weight and shift, 0.3 and 0.1, are two numbers for all of these families, chosen by these tables: of the families in
English it takes a quarter fewer harmless texts at 1K, a fifth at 2K, a sixth at 8K and a twentieth at 32K, and loses up to
2.3 points fewer. With a shift of 0.2 it takes as many as the first reader and loses 1.4 to 4.2 points fewer; with 0 a third fewer
at 2K, and loses up to 2.1 points more. A weight of 0.2 or 0.4 gave less at equal recall (by a program that is not kept). It is a
reader before that of [multilingual.md](multilingual.md), and knows none of these families; the linear tier that ships has learnt from
more written texts.

Every family is read by the first neural classifier here, whose trunk is English. The product gives texts in other languages to
the second one (`models/neural-multilingual`), also long ones: [multilingual.md](multilingual.md) has its rates in long texts of
families that it does not know, 20 % of the harmless texts of ten windows and 45 % of 37. So the means stand here twice, of all
families and of those whose rows are mostly in English.

Tried: attacks lost at 8K where only 10 % of the harmless texts are taken. Windows as before 56 %, with passages read alone 45 to
47 % (half each; the higher of both; each passage and not one a KiB; a regression on windows and passages, fitted on families that
were left out), less half of the mean of the windows beside them 40 %. The last one is not shipped: text around an attack would
lower its risk. Where 3.9 % are taken, 1.5 times the short ones, all of these lose half of the attacks and more.

Tried too, by the first reader alone and by a program that is not kept: a bar that rises with the mean of the other windows, or with
the highest, second or fourth of them (factors of 0.25 to 1, at most 0.5, 1, 2 or as much as it says). Where 10 % of the harmless are
taken, 21, 24 and 47 % of the attacks are lost at 1K, 2K and 8K as it is; with such a bar 20 to 30, 22 to 33 and 47 to 56 %.
"""

# log odds of windows [n]; highest of the linear tier's windows and passages there, of passages that both tiers read alone (nan: none), and of
# the second reader; length
Part = collections.namedtuple("Part", "neural windows passages alone second stretches")


def constant(name):
    return float(re.search(rf"#define SR_RISK_{name}\s+([0-9.]+)", HEADER).group(1))


class Tiers:
    def __init__(self, args):
        self.args, self.kept = args, {}
        self.tok = trunk.tokenizer(args.trunk)
        self.models = [table.Model.load(args.work / f"group{k}.safetensors")[0] for k in range(len(groups.GROUPS))]
        self.path = args.work / "neural.json"
        self.neural = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.second = second_reader.Second(args.binary, args.second, args.work, args.data)

    def read(self, texts):
        """Asks the binary about windows that are not known yet."""
        new = sorted({t for t in texts if self.key(t) not in self.neural})
        for at in range(0, len(new), 2000):
            answers = common.classify(self.args.binary, "jailbreak", new[at:at + 2000], "neural", "--precision", "int8", "--threads", "1")
            self.neural.update((self.key(t), a["score"]) for t, a in zip(new[at:at + 2000], answers))
            self.path.write_text(json.dumps(self.neural))
            print(f"{at + 2000} of {len(new)} windows", flush=True)

    @staticmethod
    def key(text):
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def linear(self, group, text):
        if (group, text) not in self.kept:
            odds = float(np.diff(linear.logits(self.models[group], features.keys(text.encode())))[0])
            self.kept[group, text] = (odds + SHIPPED["shift"]) / SHIPPED["temperature"]
        return self.kept[group, text]

    def windows(self, text):
        ids, offsets = trunk.encode(self.tok, [text])[0]
        return [(int(offsets[a, 0]), int(offsets[b - 1, 1])) if b > a else (0, 0) for a, b in trunk.spans(len(ids))]

    def alone(self, group, text):
        """(start, end, log odds of the linear tier) of the passages that are read alone: choose_passages in jailbreak_ask.c."""
        least, best = np.log(constant("ALONE_FROM") / (1 - constant("ALONE_FROM"))), {}
        for a, b in in_characters(text):
            stretch, z = len(text[:a].encode()) // int(constant("STRETCH")), self.linear(group, text[a:b])
            if z >= least and z > best.get(stretch, (0, 0, -np.inf))[2]:
                best[stretch] = (a, b, z)
        return list(best.values())

    def odds(self, text):
        p = np.clip(self.neural[self.key(text)], 1e-7, 1 - 1e-7)
        return float(np.log(p / (1 - p)))

    def part(self, group, text, windows, chosen):
        """Both tiers about the windows `chosen`."""
        cut = [(a, b, self.linear(group, text[a:b])) for a, b in jd.places(text)]
        own = [(a, b, self.linear(group, text[a:b])) for a, b in in_characters(text)]
        lone = [(a, b, float(jd.fused(np.array([self.odds(text[a:b])]), np.array([z]), FUSION)[0])) for a, b, z in self.alone(group, text)
                if self.key(text[a:b]) in self.neural]
        neural = np.array([self.odds(text[windows[i][0]:windows[i][1]]) for i in chosen])
        near = lambda parts, i, none=0.0: max((z for a, b, z in parts if a < windows[i][1] and b > windows[i][0]), default=none)  # noqa: E731
        bytes_ = len(text[windows[chosen[0]][0]:windows[chosen[-1]][1]].encode())
        second = np.array([self.second.odds(mr.TOGETHER[group], text[windows[i][0]:windows[i][1]]) for i in chosen])   # nan: it was not asked
        return Part(neural, np.array([near(cut, i) for i in chosen]), np.array([near(own, i) for i in chosen]),
                    np.array([near(lone, i, np.nan) for i in chosen]), second, bytes_ / constant("STRETCH"))


    def uncertain(self, group, text, windows):
        """Of each window, whether the second reader may be asked about it."""
        part = self.part(group, text, windows, range(len(windows)))
        return np.maximum(before(part), mixture(part)) >= ODDS - SECOND["band"]


def in_characters(text):
    """Passages in characters."""
    data = text.encode()
    at, place, chars = 0, {}, 0
    spans = passages.passages(data)
    for end in sorted({x for span in spans for x in span}):
        chars += len(data[at:end].decode())
        at, place[end] = end, chars
    return [(place[a], place[b]) for a, b in spans]


def joined(parts):
    return Part(*(np.concatenate([getattr(p, name) for p in parts]) for name in Part._fields[:-1]), sum(p.stretches for p in parts))


def before(part):
    return jd.fused(part.neural, part.windows, FUSION)


def mixture(part):
    share, limit = constant("LONG_NEURAL"), constant("LONG_LIMIT")
    window = share * part.neural + (1 - share) * np.clip(part.passages, -limit, limit)
    both = np.maximum((1 - constant("ALONE")) * window + constant("ALONE") * part.alone, window - constant("ALONE_MOST"))
    return np.where(np.isnan(part.alone), window, both)


def bar(stretches, shift):
    return min(constant("LONG_MOST"), shift * np.log(stretches)) if stretches >= constant("LONG_FROM") else 0.0


def train_models(args):
    """The linear model without each group, with its table: as left_out_groups.final does for the last one."""
    missing = [k for k in range(len(groups.GROUPS)) if not (args.work / f"group{k}.safetensors").exists()]
    if not missing:
        return
    rows, _, _ = linear.prepare(args.data)
    linear.build()
    source = np.array([r.source for r in rows])
    for k in missing:
        chosen = ~np.isin(source, groups.GROUPS[k] + ["made-surrounded", "made-mixed"])
        linear.train(chosen).save(args.work / f"group{k}.safetensors", {"task": "jailbreak", "labels": "|".join(jd.LABELS)})
        print(f"trained without group {k}", flush=True)


def texts_of(data):
    """Rows by (label, family)."""
    families = {}
    for row in jd.load(data, {name: 0 for name in jd.MADE})[0]:
        if row.source in GROUP:
            families.setdefault((row.label, row.source), set()).add(row.text)
    return {k: sorted(v, key=lambda t: hashlib.sha256(t.encode()).digest()) for k, v in sorted(families.items()) if len(v) >= groups.LEAST}


def make_pools(rows):
    """Long texts of one family, each with where its rows begin."""
    rest, pools, at = rows[ALONE:] if len(rows) > 300 else rows, [], 0
    for joint in JOINTS:
        text, begins = "", []
        while len(text) < POOL:
            text += joint if text else ""
            begins.append(len(text))
            text += rest[at % len(rest)][:PIECE]
            at += 1
        pools.append((text, begins))
    return pools


def plant(rng, attack, pool):
    """(text, first and last character of the attack)"""
    text, begins = pool
    at = rng.choice(begins)
    head = text[max(0, at - rng.randrange(300, BESIDE)):at].rstrip()
    return head + "\n\n" + attack + "\n\n" + text[at:at + BESIDE], len(head) + 2, len(head) + 2 + len(attack)


def measure(args):
    """Of each family the parts: alone, long (harmless), planted (attacks that are found alone: place in `alone`, carriers' family)."""
    rng, tiers, rows = random.Random(7), Tiers(args), texts_of(args.data)
    pools = {name: make_pools(texts) for (label, name), texts in rows.items() if not label}
    alone = {key: texts[:ALONE] if not key[0] else [t for t in texts if len(t) < PIECE][:ATTACKS] for key, texts in rows.items()}
    planted = {}
    for (label, name), texts in alone.items():
        mates = [m for m in pools if GROUP[m] == GROUP[name]]
        planted[name] = [(m, *plant(rng, t, rng.choice(pools[m]))) for t in texts for m in [rng.choice(mates)]] if label else []
    everything = [t for texts in alone.values() for t in texts] + [t for p in pools.values() for t, _ in p] + [p[1] for ps in planted.values() for p in ps]
    cut = {t: tiers.windows(t) for t in everything}
    groups_of = [(GROUP[name], t) for (_, name), texts in alone.items() for t in texts] + [(GROUP[name], t) for name, p in pools.items() for t, _ in p]
    groups_of += [(GROUP[name], p[1]) for name, ps in planted.items() for p in ps]
    tiers.read([t[a:b] for t, windows in cut.items() for a, b in windows] + [t[a:b] for group, t in groups_of for a, b, _ in tiers.alone(group, t)])
    tiers.second.read([(mr.TOGETHER[group], t[a:b]) for group, t in groups_of for (a, b), ask in zip(cut[t], tiers.uncertain(group, t, cut[t])) if ask])
    out = {}
    for (label, name), texts in alone.items():
        whole = lambda t, name=name: tiers.part(GROUP[name], t, cut[t], range(len(cut[t])))  # noqa: E731
        mine = {"label": label, "alone": [whole(t) for t in texts], "long": [], "planted": []}
        mine["long"] = [whole(t) for t, _ in pools[name]] if not label else []
        mine["planted"] = [(m, tiers.part(GROUP[name], t, cut[t], [i for i, (x, y) in enumerate(cut[t]) if y > a and x < b])) for m, t, a, b in planted[name]]
        out[f"{'attack' if label else 'harmless'} {name}"] = mine
        print(f"{name}: alone {np.mean([before(p).max() >= ODDS for p in mine['alone']]):.3f}", flush=True)
    return out


def stretch_of(rng, parts, windows):
    """That many windows of a family's long texts, one after the other."""
    chosen, have = [], 0
    while have < windows:
        part = rng.choice(parts)
        n = min(windows - have, len(part.neural))
        at = rng.randrange(len(part.neural) - n + 1)
        chosen.append(Part(*(getattr(part, f)[at:at + n] for f in Part._fields[:-1]), part.stretches * n / len(part.neural)))
        have += n
    return joined(chosen)


def judged(part, stretches, shift, again):
    """Log odds of windows under the bar of a length, with the second reader where it is asked: parts_of in jailbreak_second.c."""
    z = mixture(part) - bar(stretches, shift)
    if again and (z >= ODDS).sum() <= constant("SECOND_TEXTS"):
        share, asked = constant("LONG_SECOND"), np.nonzero((z >= ODDS - SECOND["band"]) & ~np.isnan(part.second))[0]
        asked = asked[np.argsort(-z[asked], kind="stable")][:int(constant("SECOND_TEXTS"))]
        z[asked] = (1 - share) * z[asked] + share * part.second[asked] + constant("LONG_SECOND_SHIFT")
    return z


def rates(families, windows, shift):
    """Of each family: (before, without the second reader, now): false alarms in harmless long texts, attacks lost of those found alone."""
    rng, out = random.Random(windows), {}
    for name, family in families.items():
        flags = []
        if family["label"]:
            for single, (mate, part) in zip(family["alone"], family["planted"]):
                if before(single).max() < ODDS:
                    continue
                for _ in range(PLANTED):
                    around, own = stretch_of(rng, families[f"harmless {mate}"]["long"], windows), len(part.neural)
                    whole = joined([part, around])
                    flags.append((before(part).max() < ODDS, *(judged(whole, whole.stretches, shift, again)[:own].max() < ODDS for again in (False, True))))
        else:
            drawn = [stretch_of(rng, family["long"], windows) for _ in range(DRAWN)]
            flags = [(before(p).max() >= ODDS, *(judged(p, p.stretches, shift, again).max() >= ODDS for again in (False, True))) for p in drawn]
        out[name] = [round(float(x), 4) for x in np.mean(flags, axis=0)]
    return out


def percent(x):
    return f"{100 * x:.1f} %"


def other_languages(data):
    """Names of families half of whose rows, or more, are not in English."""
    of = collections.defaultdict(list)
    for row in jd.load(data, {name: 0 for name in jd.MADE})[0]:
        if row.source in GROUP:
            of[f"{'attack' if row.label else 'harmless'} {row.source}"].append(mr.is_foreign(row.text) or mr.language(row) != "en")
    return sorted(name for name, flags in of.items() if np.mean(flags) >= 0.5)


def means(found, skip):
    """Rows of a table of the means over the families but those of `skip`."""
    shipped, out = constant("LONG_SHIFT"), []
    kind = lambda k, what, i: [v[i] for name, v in found[k][shipped].items() if name.startswith(what) and name not in skip]  # noqa: E731
    for k in LENGTHS:
        harmless = [kind(k, "harmless", i) for i in (0, 1, 2)]
        out.append([f"{k}K", *(f"{percent(np.mean(v))}, {percent(statistics.median(v))}, {percent(max(v))}" for v in harmless),
                    *(percent(np.mean(kind(k, "attack", i))) for i in (0, 1, 2))])
    names = ("before", "first reader", "now")
    return common.table(["tokens", *(f"harmless, {n}" for n in names), *(f"lost, {n}" for n in names)], out)


def write(args, found, short, others, models=None):
    kind = lambda table_, what, i: [v[i] for k, v in table_.items() if k.startswith(what)]  # noqa: E731
    shifts, names, shipped = [], [], constant("LONG_SHIFT")
    for shift in SHIFTS:
        shifts.append([shift, *(f"{percent(np.mean(kind(found[k][shift], 'harmless', 2)))}, {percent(np.mean(kind(found[k][shift], 'attack', 2)))}" for k in LENGTHS)])
    for name in short:
        names.append([name, percent(short[name]), *(" → ".join(percent(x) for x in found[k][shipped][name]) for k in LENGTHS)])
    alone = [percent(np.mean([v for n, v in short.items() if n.startswith(what)])) for what in ("harmless", "attack")]
    report = common.Report(args, "long", "Long texts of families that were left out", WORDS)
    report.text[2] = report.text[2].replace("training/figures_long.py", "training/calibrate_long.py").replace("; rates with 95 % intervals (Wilson)", "")
    if models:  # that the kept figures are of
        report.text[2] = report.text[2].replace(", ".join(report.figures["models"]), ", ".join(models))
        report.figures["models"] = models
    report.figures.update(short=short, other_languages=others, long={str(k): {str(s): v for s, v in by.items()} for k, by in found.items()})
    report.add(f"Short texts as they are: {alone[0]} of the harmless are taken for attacks, {alone[1]} of the attacks are found (means of families).\n",
               "## Means of families\n", "Harmless: mean, median and worst of the families that are taken for attacks. Attacks: lost of those that are found alone.\n",
               means(found, []), f"Without {', '.join(name.split()[-1] for name in others)}, which are mostly not in English:\n", means(found, others),
               "## By family: before → first reader → now\n", "Harmless texts taken for attacks; attacks lost. \"Short\": harmless taken, attacks found, as they are.\n",
               common.table(["family", "short", *(f"{k}K" for k in LENGTHS)], names),
               "## The choice\n", f"By `SR_RISK_LONG_SHIFT`: harmless taken for attacks, attacks lost; {shipped} is shipped.\n",
               common.table(["shift", *(f"{k}K" for k in LENGTHS)], shifts))
    report.write()


def main():
    args = common.arguments(__doc__)
    args.add_argument("--trunk", type=pathlib.Path, default=HERE.parent / "models" / "all-MiniLM-L6-v2")
    args.add_argument("--work", type=pathlib.Path)
    args.add_argument("--second", type=pathlib.Path)
    args.add_argument("--again", action="store_true", help="only write the page again, from long.json")
    args = args.parse_args()
    if args.again:
        kept = json.loads((args.out / "long.json").read_text())
        found = {int(k): {float(shift): families for shift, families in by.items()} for k, by in kept["long"].items()}
        return write(args, found, kept["short"], other_languages(args.data), kept["models"])
    args.work.mkdir(parents=True, exist_ok=True)
    train_models(args)
    families = measure(args)
    found = {k: {shift: rates(families, windows, shift) for shift in SHIFTS} for k, windows in LENGTHS.items()}
    short = {name: round(float(np.mean([before(p).max() >= ODDS for p in f["alone"]])), 4) for name, f in families.items()}
    return write(args, found, short, other_languages(args.data))


if __name__ == "__main__":
    main()
