"""docs/quality/cache.md and .json: what the cache's gate keeps of true hits and what false hits it lets through.

    python3 figures_cache.py [--binary BINARY] [--data DIR] [--out DIR]

Pairs that contradict each other and pairs that ask the same, by the shipped embedding at several thresholds, with and
without the gate: `semroute cache calibrate --pairs` says similarity and reason of each. The word lists and limits of
the gate were chosen on family A of the contradictions, on family C's classes of differences after its first score, and
on train files; family B and dev files are scored only.
"""
import collections
import json
import pathlib
import tempfile

import figures_common as common

MADE = common.ROOT / "tests" / "data" / "cache"
FAMILIES = ("A", "B", "C")
THRESHOLDS = (0.80, 0.85, 0.90, 0.95)
GOAL_AT = 0.85
FALSE_GOAL, KEPT_GOAL = 0.005, 0.6
# The gate as first written, before any look at what it did: false hits of the contradictions by threshold and family
# (of 1422 in A, 1018 in B), and true hits at 0.85 that it kept. C: the gate that A and B had led to.
FIRST = {"A": {0.80: 36, 0.85: 33, 0.90: 32, 0.95: 27}, "B": {0.80: 37, 0.85: 28, 0.90: 23, 0.95: 16},
         "C": {0.80: 22, 0.85: 21, 0.90: 17, 0.95: 10},
         "kept": {"made paraphrases": (113, 146), "intents, train": (270, 412), "Korean questions": (913, 1887)}}
TITLE = "The cache's gate"
WORDS = """
Whether questions that an embedding finds close may share an answer. A contradiction is a pair of questions with
different answers and nearly the same words, made from templates written by hand
(`training/contradictions.txt`): {n} pairs in {langs} languages and {kinds} kinds. Family A of the templates was looked
at while the gate was worked on; family B was scored only. Family C was written after the gate, scored, and then
looked at. All were written by those who wrote the gate. A false hit is a contradiction that the cache would answer
from the other question's entry; rates are of all contradictions. A true hit is a pair that asks the same and would be
found.
"""


def pairs_of(args):
    """{collection: rows}; a row has a, b, same and what else is known of it."""
    found = {name: common.rows_of(MADE / f"{name}.jsonl") for name in ("contradictions", "paraphrases")}
    found["contradictions"] = common.sample(found["contradictions"], args.contradictions, "cache", lambda r: r["a"] + "\0" + r["b"])
    for name, file in (("similarity-intent-pairs", "dev"), ("similarity-korean-qpairs", "train")):
        rows = [{"a": r["text1"], "b": r["text2"], "same": r["label"] == 1} for r in common.rows_of(args.data / name / f"{file}.jsonl")]
        found[name] = [r for r in common.sample(rows, args.pairs, "cache", lambda r: r["a"] + "\0" + r["b"]) if r["a"].strip() and r["b"].strip() and r["a"] != r["b"]]
    return found


def measure(args, found):
    """Adds similarity and reason to every row."""
    rows = [row for part in found.values() for row in part]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        path = common.write_rows(folder / "in.jsonl", ({k: r[k] for k in ("a", "b", "same")} for r in rows))
        common.run(args.binary, "cache", "calibrate", path, "--pairs", folder / "out.jsonl", "--json")
        answers = common.rows_of(folder / "out.jsonl")
    if len(answers) != len(rows):
        raise SystemExit(f"cache calibrate: {len(rows)} pairs, {len(answers)} answers")
    for row, answer in zip(rows, answers):
        row.update(similarity=answer["similarity"], gate=answer["gate"])


def is_near(row, threshold):
    return row["similarity"] >= threshold - 1e-6


def passes(row, threshold):
    return is_near(row, threshold) and row["gate"] == "agrees"


def found_at(rows, threshold):
    """Rates of the rows that are found, without and with the gate, and of found ones that the gate keeps."""
    near = [r for r in rows if is_near(r, threshold)]
    return {"without": common.rate(is_near(r, threshold) for r in rows), "with": common.rate(passes(r, threshold) for r in rows),
            "kept": common.rate(r["gate"] == "agrees" for r in near)}


def by(rows, key, threshold):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return {name: found_at(part, threshold) for name, part in sorted(groups.items())}


def figures(found):
    contradictions = found["contradictions"]
    true = {"made paraphrases": found["paraphrases"]}
    other = {}
    for name, label in (("similarity-intent-pairs", "intents, dev"), ("similarity-korean-qpairs", "Korean questions")):
        true[label] = [r for r in found[name] if r["same"]]
        other[label] = [r for r in found[name] if not r["same"]]
    families = {"all": contradictions, **{f: [r for r in contradictions if r["family"] == f] for f in FAMILIES}}
    return {
        "contradictions": {name: {t: found_at(rows, t) for t in THRESHOLDS} for name, rows in families.items()},
        "paraphrases": {name: {t: found_at(rows, t) for t in THRESHOLDS} for name, rows in true.items()},
        "paraphrases_by_family": by(found["paraphrases"], "family", GOAL_AT),
        "different": {name: {t: found_at(rows, t) for t in THRESHOLDS} for name, rows in other.items()},
        "kinds": by(contradictions, "kind", GOAL_AT),
        "languages": by(contradictions, "lang", GOAL_AT),
        "reasons": {name: dict(collections.Counter(r["gate"] for r in rows if is_near(r, GOAL_AT)).most_common())
                    for name, rows in (("contradictions", contradictions), *true.items())},
    }


def rows_by_threshold(parts, cells):
    return [[name, f"{t:.2f}", *cells(part[t])] for name, part in parts.items() for t in THRESHOLDS]


def exact(rate):
    """With the counts: near the goal the rounded rate alone says too little."""
    return f"{common.cell(rate)}, {rate['hits']} of {rate['rows']}"


def tables(report, f):
    at = f["contradictions"]["all"][GOAL_AT]["with"]
    report.add("## Goals\n", common.table(["what", "measured", "goal", "met"], [
        [f"false hits on contradictions at {GOAL_AT}", exact(at), f"under {100 * FALSE_GOAL} %", "yes" if at["share"] < FALSE_GOAL else "no"],
        ["the same, family B alone", exact(f["contradictions"]["B"][GOAL_AT]["with"]), f"under {100 * FALSE_GOAL} %", "yes" if f["contradictions"]["B"][GOAL_AT]["with"]["share"] < FALSE_GOAL else "no"],
        *([f"{name}: true hits kept at {GOAL_AT}", common.cell(part[GOAL_AT]["kept"]), f"at least {100 * KEPT_GOAL:.0f} %", "yes" if part[GOAL_AT]["kept"]["share"] >= KEPT_GOAL else "no"]
          for name, part in f["paraphrases"].items() if part[GOAL_AT]["kept"]["rows"])]))
    report.add("## Contradictions\n", "False hits, of all pairs of the family.\n", common.table(
        ["family", "threshold", "without the gate", "with the gate"],
        rows_by_threshold(f["contradictions"], lambda r: [common.cell(r["without"]), common.cell(r["with"])])))
    report.add("## Questions that ask the same\n",
               "`intents` are two sentences of one intent (weak labels: not always the same question); Korean questions are sentences of everyday "
               "talk, a train file, which has no dev file and was looked at. Pairs that are equal byte for byte are left out. \"Kept\" is the share of the hits without the gate that remain.\n",
               common.table(["pairs", "threshold", "hits without the gate", "hits with the gate", "kept"],
                            rows_by_threshold(f["paraphrases"], lambda r: [common.cell(r["without"]), common.cell(r["with"]), common.cell(r["kept"])])),
               f"Made paraphrases exchange one word or two for others that say the same, which the gate allows for words that its lists join: those of "
               f"family A, which was looked at, and fewer of the others. At {GOAL_AT}:\n",
               common.table(["family", "pairs", "hits without the gate", "kept"],
                            [[name, r["with"]["rows"], common.cell(r["without"]), exact(r["kept"])] for name, r in f["paraphrases_by_family"].items()]))
    report.add("## Questions that do not\n", "Of the same collections: pairs labelled as different.\n",
               common.table(["pairs", "threshold", "false hits without the gate", "false hits with the gate"],
                            rows_by_threshold(f["different"], lambda r: [common.cell(r["without"]), common.cell(r["with"])])))
    for key, title in (("kinds", "By kind"), ("languages", "By language")):
        report.add(f"## {title}\n", f"Contradictions at {GOAL_AT}.\n",
                   common.table([key[:-1], "pairs", "without the gate", "with the gate"],
                                [[name, r["with"]["rows"], common.cell(r["without"]), common.cell(r["with"])] for name, r in f[key].items()]))
    names = sorted({n for part in f["reasons"].values() for n in part}, key=lambda n: -f["reasons"]["contradictions"].get(n, 0))
    report.add("## What the gate says\n", f"Of the pairs that are near at {GOAL_AT}: the first reason found.\n",
               common.table(["reason", *f["reasons"]], [[n, *(part.get(n, 0) for part in f["reasons"].values())] for n in names]))
    counts = {name: part[GOAL_AT]["with"]["rows"] for name, part in f["contradictions"].items()}
    report.add("## First score\n", "The gate as first written, before its answers were looked at; of family C, the gate before that family was known. Kept here for comparison.\n",
               common.table(["family", *(f"false hits at {t:.2f}" for t in THRESHOLDS)],
                            [[f"{name} ({counts[name]})", *FIRST[name].values()] for name in FAMILIES]),
               common.table(["pairs", f"true hits kept at {GOAL_AT}"],
                            [[name, f"{kept} of {n} ({100 * kept / n:.0f} %)"] for name, (kept, n) in FIRST["kept"].items()]))


def main():
    args = common.arguments(__doc__)
    args.add_argument("--pairs", type=int, default=4000, help="of each collection")
    args.add_argument("--contradictions", type=int, default=100000, help="how many of them at most")
    args = args.parse_args()
    found = pairs_of(args)
    measure(args, found)
    rows = found["contradictions"]
    words = WORDS.format(n=len(rows), langs=len({r["lang"] for r in rows}), kinds=len({r["kind"] for r in rows}))
    report = common.Report(args, "cache", TITLE, words)
    f = figures(found)
    report.figures.update(json.loads(json.dumps(f)), first=json.loads(json.dumps(FIRST)))
    tables(report, f)
    report.write()


if __name__ == "__main__":
    main()
