"""English texts that no model learns from: attacks by kind, documents full of instructions, what users type, attacks among prompts.

    python3 figures_english.py [--binary ../build/semroute]

Reads texts/english_test alone. Writes english.md and english.json.
"""
import collections
import random

import figures_common as common
import written

WORDS = """
Texts of three authors who saw no other text of this project, written for measuring alone (`training/texts/english_test`): attacks
of users, orders that stand in documents, harmless documents full of instructions, roles and warnings, and what users type, a third
of it close to an attack by its words. An attack is found, and a harmless text
taken for one, from 0.7. "First readers" are the linear tier and the English classifier; "as it ships" has the second reader too.

Among prompts: each attack of at most {short} characters stands behind, before and between three to eight short prompts of users. "Lost"
are those that are found alone and not there; joined prompts are four to eight of them without an attack.
"""
FILES = ("attacks", "harmless_documents", "users")
SHORT, BELOW, JOINED = 300, 400, 150    # characters of an attack and of a prompt among others; joined prompts
PLACES = ("behind", "before", "between")
READERS = {"linear tier": ("linear",), "English classifier": ("neural", "--heads", common.ROOT / "models" / "neural"),
           "first readers": ("cascade", "--heads", common.ROOT / "models" / "neural"), "as it ships": ("cascade",)}


def among(rng, text, prompts):
    """(place, text) for PLACES: the text with three to eight of the prompts."""
    n = rng.randint(3, 8)
    around = rng.sample(prompts, n)
    return [(place, "\n".join(around[:at] + [text] + around[at:])) for place, at in zip(PLACES, (n, 0, rng.randint(1, n - 1)))]


def joined(rng, prompts):
    return "\n".join(rng.sample(prompts, rng.randint(4, 8)))


def kinds(records):
    """[(kind, texts)]: attacks by kind, then all of users, all in documents; harmless ones by file."""
    of = collections.defaultdict(list)
    for r in records:
        if r.attack:
            of[r.kind].append(r.text)
            of["in documents, all" if r.kind.startswith("hidden_") else "direct, all"].append(r.text)
        else:
            of["documents" if r.name.startswith("harmless_documents") else "users' prompts"].append(r.text)
    last = ("direct, all", "in documents, all", "documents", "users' prompts")
    return [(k, of[k]) for k in sorted(k for k in of if k not in last)] + [(k, of[k]) for k in last]


def taken(args, texts, tier, *options):
    return [a["score"] >= common.THRESHOLD for a in common.classify(args.binary, "jailbreak", texts, tier, *options)]


def main():
    args = common.arguments(__doc__).parse_args()
    records, rng = written.read(written.FOLDER / "english_test"), random.Random(7)
    report = common.Report(args, "english", "English texts that no model learns from", WORDS.format(short=SHORT))
    prompts = [r.text for r in records if r.name.startswith("users") and len(r.text) < BELOW]
    short = [r.text for r in records if r.attack and not r.kind.startswith("hidden_") and len(r.text) <= SHORT]
    places = [(k, i, text) for i, attack in enumerate(short) for k, text in among(rng, attack, prompts)]
    many = [joined(rng, prompts) for _ in range(JOINED)]
    by_kind, among_prompts = {}, {}
    for reader, how in READERS.items():
        by_kind[reader] = {k: common.rate(taken(args, texts, *how)) for k, texts in kinds(records)}
        alone, there = taken(args, short, *how), taken(args, [t for *_, t in places], *how)
        among_prompts[reader] = {"alone": common.rate(alone), "joined": common.rate(taken(args, many, *how)),
                                 **{p: common.rate(not found for (k, i, _), found in zip(places, there) if k == p and alone[i]) for p in PLACES}}
    report.figures.update(kinds=by_kind, among=among_prompts)
    rows = [[k, len(texts), *(common.cell(by_kind[reader][k]) for reader in READERS)] for k, texts in kinds(records)]
    report.add("## By kind\n", "Attacks found; of the last two rows, taken for attacks.\n", common.table(["kind", "texts", *READERS], rows),
               "## Among prompts\n", f"{len(short)} attacks, {JOINED} times joined prompts.\n",
               common.table(["reader", "found alone", *(f"lost {p} prompts" for p in PLACES), "joined prompts taken"],
                            [[reader, *(common.cell(f[k]) for k in ("alone", *PLACES, "joined"))] for reader, f in among_prompts.items()]))
    report.write()


if __name__ == "__main__":
    main()
