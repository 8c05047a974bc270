"""docs/quality/README.md: the goals beside what was measured, from the documents that the other figures' scripts wrote.

    python3 figures_summary.py
"""
import json

import figures_common as common
import figures_harmless

WORDS = """
Written by `training/figures_all.sh` (`make quality`); [quality](../quality.md) says how to read it. The measured rate
itself, not its interval, meets a goal. "-" means that there is no goal.
"""
SHIPPED = "cascade, int8"


def load(args, name):
    path = args.out / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def verdict(met):
    return "yes" if met else "no"


def rate_line(what, f, key, goal, met):
    return [what, common.percent(f[key], f[f"{key}_interval"]), goal, verdict(met(f[key])) if goal != "-" else "-"]


def domain(f):
    f = f["domain"][SHIPPED]
    goals = {"domain-mmlu-pro": 0.86, "domain-mmlu": 0.84}
    return [rate_line(f"domain, {name}: accuracy", part, "accuracy", f"at least {100 * goals[name]:.0f} %" if name in goals else "-", lambda v, g=goals.get(name, 0): v >= g)
            for name, part in f.items()]


def jailbreak(f):
    f = f["jailbreak"][SHIPPED]
    benign, goal = f["by"]["file"]["benign-prompts/sample.jsonl"], f["goal"]
    lines = [rate_line("attacks of five collections: recall at 0.7", f, "recall", "-", bool),
             ["harmless texts of nine collections: false positives at 0.7, mean", f"{100 * f['false_positive_rate_mean']:.2f} %", "-", "-"],
             rate_line("in-the-wild attacks: recall at 0.7", goal, "recall", "-", bool),
             ["six harmless collections: false positives at 0.7, mean", f"{100 * goal['false_positive_rate_mean']:.2f} %", "at most 1 %", verdict(goal["false_positive_rate_mean"] <= 0.01)],
             rate_line("in-the-wild attacks: recall where that mean is 1 %", goal, "recall_at_1_mean_fpr", "at least 97 %", lambda v: v >= 0.97),
             rate_line("act-as prompts taken for attacks", benign, "false_positive_rate", "at most 3 %", lambda v: v <= 0.03)]
    for name, part in f["others"].items():
        alike = name.startswith("lookalikes")
        lines.append(rate_line(f"{name} taken for attacks", part, "false_positive_rate", "at most 5 %" if alike else "-", lambda v: v <= 0.05))
    return lines


def pii(f):
    harmless = [(name, figures_harmless.total(name, rows)["wrong_per_1000"], goal) for (name, rows), goal in zip(figures_harmless.groups(f["harmless"]), (2, 2, 0.5))]
    f = f["pii"][SHIPPED]
    people = f["pii-ner-tweets"]["types"]["PERSON"]["f1"]
    low = {t: v["f1"] for t, v in f["sentences"]["types"].items() if v["f1"] < 0.8 and v["spans"]}
    return [["private data, presidio: F1", f"{f['pii-presidio']['f1']:.3f}", "at least 0.92", verdict(f["pii-presidio"]["f1"] >= 0.92)],
            ["private data, sentences written apart: types with F1 of at least 0.80", f"{17 - len(low)} of 17" + (f" (not {', '.join(low)})" if low else ""), "17", verdict(not low)],
            ["private data, tweets: F1 of names", f"{people:.3f}", "at least 0.70", verdict(people >= 0.7)],
            *([f"private data found in {name}: wrong in 1,000 words", f"{rate:.2f}", f"under {goal}", verdict(rate < goal)] for name, rate, goal in harmless)]


def languages(f):
    points = 100 * (f["mean"]["shipped"] - f["rates"]["shipped"]["en"]["share"])
    return [["domain, the same questions in 20 other languages, less in English", f"{points:+.1f} points, {100 * f['mean']['shipped']:.1f} %", "within 5 points", verdict(points >= -5)]]


def append(f):
    flips = {place: f["cascade"][place]["flips"] for place in ("before", "behind", "around")}
    return [[f"harmless words {place} an attack: found no longer", common.cell(r), "under 5 %", verdict((r["share"] or 0) < 0.05)] for place, r in flips.items()]


def english(f):
    kinds, among = f["kinds"]["as it ships"], f["among"]["as it ships"]
    return [*([f"English texts apart, attacks {what}", common.cell(kinds[k]), "-", "-"] for k, what in (("direct, all", "of users"), ("in documents, all", "in documents"))),
            *([f"English texts apart, {k} taken for attacks", common.cell(kinds[k]), "-", "-"] for k in ("documents", "users' prompts")),
            *([f"English texts apart, attacks {p} harmless prompts: found no longer", common.cell(among[p]), "-", "-"] for p in ("behind", "before", "between"))]


def planted(f):
    lines = []
    for what in ("attacks", "private_data"):
        for n, g in f["cascade"][what].items():
            mean = sum(g[p]["share"] for p in ("start", "middle", "end")) / 3
            points = 100 * (mean - g["alone"]["share"])
            lines.append([f"{what.replace('_', ' ')} planted in {int(n) // 1024}K tokens, less alone ({g['alone']['rows']} texts)", f"{points:+.1f} points", "within 2 points", verdict(points >= -2)])
    for kind, g in f["cascade"]["harmless"].items():
        short = g["short"]["share"]
        most = max(g[n]["share"] for n in g if n != "short")
        met = most <= 1.5 * short or most == 0
        lines.append([f"harmless long prompts of {kind} taken for attacks, worst length (short ones: {100 * short:.1f} %)", f"{100 * most:.1f} %", "at most 1.5 times short", verdict(met)])
    return lines


def response(f):
    return [[f"attacks and harmless texts as {way.replace('whole answer', 'whole answers').replace('stream', 'streams')}: judged otherwise than as a user's", common.cell(r), "under 3 %", verdict(r["share"] < 0.03)]
            for way, r in f["differs"].items() if way != "user's text"]


def routing(f):
    """The rules for half of the train rows, chosen beforehand: the page has all."""
    lines = []
    for name, part in f.items():
        if name == "models":
            continue
        at = next(i for i, r in enumerate(part["rules"]) if r["rule"].startswith("category, 50%"))
        for rule, kind in zip(part["rules"][at:at + 3], ("category", "entropy", "length")):
            lines.append([f"{name}, rule by {kind}: accuracy less that of a coin at its cost", f"{100 * rule['gain']:+.1f} points at {100 * rule['cost']:.0f} % to the strong model", "-", "-"])
    return lines


def cache(f):
    at = "0.85"
    false = f["contradictions"]["all"][at]["with"]
    blind = f["contradictions"]["B"][at]["with"]
    lines = [[f"cache: contradictions answered from another question's entry at {at}, with the gate", common.cell(false), "under 0.5 %", verdict(false["share"] < 0.005)],
             ["cache: the same, of templates that were scored only", common.cell(blind), "under 0.5 %", verdict((blind["share"] or 0) < 0.005)]]
    for name, part in f["paraphrases"].items():
        kept = part[at]["kept"]
        lines.append([f"cache: true hits that the gate keeps at {at}, {name}", common.cell(kept), "at least 60 %", verdict((kept["share"] or 0) >= 0.6)])
    return lines


def main():
    args = common.arguments(__doc__).parse_args()
    lines = []
    for name, make in (("domain", domain), ("jailbreak", jailbreak), ("english", english), ("languages", languages), ("pii", pii), ("append", append), ("planted", planted), ("response", response), ("routing", routing), ("cache", cache)):
        found = load(args, name)
        lines += make(found) if found else [[f"{name}: not measured", "-", "-", "-"]]
    text = f"# Figures of the shipped models\n{WORDS}\nModels: {', '.join(common.models(args.binary))}.\n\n" + common.table(["what", "measured", "goal", "met"], lines)
    pages = [p.stem for p in sorted(args.out.glob("*.md")) if p.stem != "README"]
    (args.out / "README.md").write_text(common.wrap(text + "\nAll tables: " + ", ".join(f"[{p}]({p}.md)" for p in pages) + ".\n"), encoding="utf-8")


if __name__ == "__main__":
    main()
