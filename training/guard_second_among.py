"""What the second reader of English is worth where an attack stands among harmless words, by its share.

    python guard_second_among.py --work DIR --second DIR [--data ../../shared/data] [--binary ../build/semroute]

Attacks and short prompts of users, both written for training, that no tier knows: neither models/neural nor, by the groups of
multilingual_rows.group_of, the linear tier and the second reader, whose models --second has (multilingual_guard.py --groups). Each
attack is read alone, and before, behind and between three to eight prompts of its group; the prompts are also joined without one, and
documents of its group that are full of instructions are read. The shift of each share is the one that keeps the threshold where it is on
collections that were left out (guard_second.py). Writes nothing but answers, into --work. Only train files are read.
"""
import argparse
import collections
import json
import pathlib
import random

import numpy as np

import figures_common as common
import figures_english as english_texts
import guard_second
import left_out_linear
import multilingual_guard as guard
import multilingual_rows as mr
import second_reader
import written

HERE = pathlib.Path(__file__).resolve().parent
MOST, JOINED = 60, 60   # attacks, and joined prompts, of a group
USERS = ("written linear ordinary_users ", "written wider users_english ")
Text = collections.namedtuple("Text", "kind group text of")   # of: the attack's number


def texts(seed=7):
    """Texts of all kinds: alone, figures_english.PLACES, joined and document."""
    rng, out = random.Random(seed), []
    rows = [(mr.group_of(mr.family(r)), folder.name, r) for folder in written.LINEAR
            for r in mr.written_rows(folder.name) if r.lang == "en"]
    for g in range(mr.GROUPS):
        prompts = [r.text for k, _, r in rows if k == g and r.group.startswith(USERS) and len(r.text) < english_texts.BELOW]
        attacks = [r.text for k, _, r in rows if k == g and r.label and len(r.text) <= english_texts.SHORT]
        if len(prompts) < 8:
            continue
        rng.shuffle(attacks)
        for text in attacks[:MOST]:
            number = len(out)
            out.append(Text("alone", g, text, number))
            out += [Text(place, g, whole, number) for place, whole in english_texts.among(rng, text, prompts)]
        out += [Text("joined", g, english_texts.joined(rng, prompts), -1) for _ in range(JOINED)]
        out += [Text("document", g, r.text, -1) for k, _, r in rows if k == g and "harmless_documents" in r.group]
    return out


def first(args, every):
    """Log odds of the first readers."""
    fusion = json.loads((HERE.parent / "models" / "neural" / "config.json").read_text())["fusion"]["jailbreak"]
    answers = common.classify(args.binary, "jailbreak", [t.text for t in every], "neural", "--threads", "1", "--heads", HERE.parent / "models" / "neural")
    p = np.clip([a["score"] for a in answers], 1e-7, 1 - 1e-7)
    linear = np.clip(left_out_linear.odds(args.data, [(t.group, t.text) for t in every])[1], -fusion["linear_limit"], fusion["linear_limit"])
    return (fusion["neural"] * np.log(p / (1 - p)) + fusion["linear"] * linear + fusion["shift"]) / fusion["temperature"]


def main():
    args = common.arguments(__doc__)
    args.add_argument("--work", type=pathlib.Path, required=True)
    args.add_argument("--second", type=pathlib.Path, required=True)
    args = args.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    second, every = second_reader.Second(args.binary, args.second, args.work, args.data), texts()
    every = [t for t in every if t.group in second.models]
    second.read([(t.group, t.text) for t in every])
    z, own = first(args, every), np.array([second.odds(t.group, t.text) for t in every])
    english = guard_second.English(argparse.Namespace(binary=args.binary, data=args.data, work=args.second))
    bar = english.found(english.first, english.collected)["threshold"]
    kind, of = np.array([t.kind for t in every]), np.array([t.of for t in every])
    print(collections.Counter(kind.tolist()))
    for share in guard_second.SHARES:
        shift = bar - english.found(english.mixed(share, bar), english.collected)["threshold"]
        score = np.where(z > bar - guard_second.BAND, (1 - share) * z + share * own + shift, z)
        found = score >= bar
        alone = {int(n) for n in of[(kind == "alone") & found]}
        lost = [1 - found[(kind == p) & np.isin(of, list(alone))].mean() for p in english_texts.PLACES]
        print(f"{share}: alone {found[kind == 'alone'].mean():.1%}; lost {', '.join(f'{p} {v:.1%}' for p, v in zip(english_texts.PLACES, lost))}; "
              f"documents {found[kind == 'document'].mean():.1%}, joined prompts {found[kind == 'joined'].mean():.1%}")


if __name__ == "__main__":
    main()
