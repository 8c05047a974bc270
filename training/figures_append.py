"""Attacks with harmless words before, behind or around them: how many that were found are found no longer.

    python3 figures_append.py [--tiers linear,cascade] [--attacks 263]

The harmless words are 3 to 12 questions of domain-longfact's development file; the attacks are those of the development files.
"""
import random

import figures_common as common

WORDS = """
Three to twelve harmless questions are placed before, after or around each attack. A flip is an attack that is found
alone and missed among them (goal: under 5 %). Below is the reverse: harmless texts that become an attack when other
harmless words join them.
"""
PLACES = {"before": lambda t, w: f"{w}\n{t}", "behind": lambda t, w: f"{t}\n{w}", "around": lambda t, w: f"{w}\n{t}\n{w}"}


def with_words(args, tier, texts, words, place):
    """For each text, is it an attack with the words beside it?"""
    rng = random.Random(5)
    longer = [PLACES[place](t, " ".join(rng.sample(words, rng.randint(3, 12)))) for t in texts]
    return [a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", longer, tier)]


def figures(args, tier, attacks, harmless):
    words = [r["text"] for r in common.rows_of(args.data / "domain-longfact" / "dev.jsonl")]
    texts, n = [r["text"] for r in attacks + harmless], len(attacks)
    alone = [a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", texts, tier)]
    f = {"attacks": common.rate(alone[:n])}
    for place in PLACES:
        after = with_words(args, tier, texts, words, place)
        lost = [(r["source"], not b) for r, a, b in zip(attacks, alone, after) if a]
        f[place] = {"flips": common.rate(x for _, x in lost), "by_file": {s: common.rate(x for of, x in lost if of == s) for s in common.ATTACKS},
                    "new_false_positives": common.rate(b for a, b in zip(alone[n:], after[n:]) if not a)}
    return f


def tables(report, tiers, attacks, harmless):
    report.add(common.table(["tier", "harmless words", "attacks found alone", "of them found no longer", "harmless texts that become attacks"],
                            [[tier, place, f["attacks"]["hits"], common.cell(f[place]["flips"]), common.cell(f[place]["new_false_positives"])] for tier, f in tiers.items() for place in PLACES]),
               "Attacks that are missed among harmless words, by file:\n",
               common.table(["tier", "harmless words", *common.ATTACKS],
                            [[tier, place, *(f"{common.cell(f[place]['by_file'][s])} of {f[place]['by_file'][s]['rows']}" for s in common.ATTACKS)] for tier, f in tiers.items() for place in PLACES]))


if __name__ == "__main__":
    common.main_by_tier(__doc__, "append", "Harmless words beside an attack", WORDS, collections=common.ATTACKS, salt="append",
                        attacks_of=263, harmless_of=25, figures=figures, tables=tables)
