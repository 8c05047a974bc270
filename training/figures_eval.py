"""Accuracy, recall, false positives, F1 of each tier and precision, by `semroute eval` on the development files.

    python3 figures_eval.py [--tasks domain,jailbreak,pii] [--harmless 300] [--spans 60]

domain: models' labels of 14 categories. jailbreak: attacks found at 0.7, and harmless texts of nine collections that are taken for attacks;
look-alikes from training/lookalikes*.txt and attacks from attacks_apart.txt. pii: two collections, and sentences of pii_test_templates.py, which training never read.
"""
import pathlib
import random
import tempfile

import figures_common as common
import figures_harmless
import pii_test_templates

DOMAIN = {"domain-mmlu-pro": 86, "domain-mmlu": 84, "domain-longfact": None}
RUNS = [("linear", None), ("neural", "fp32"), ("neural", "bf16"), ("neural", "int8"), ("both", "int8"), ("cascade", "int8"), ("cascade", "fp32"), ("cascade", "bf16")]
PRIVATE_RUNS = [("linear", None), ("neural", "int8"), ("cascade", "int8")]
GUARD_RUNS = [r for r in RUNS if r[0] != "both"]
SHIPPED = ("cascade", "int8")
GOAL = ["domain-mmlu-pro", "domain-longfact", "intent-banking77", "intent-clinc150", "tools-metatool", "factcheck-weak"]  # whose mean of false positives is held to 1 %
PII = {"pii-presidio": None, "pii-ner-tweets": "PERSON,GPE,ORGANIZATION"}
WORDS = {
    "domain": """
The category of a question, one of 14. `linear` is the built-in classifier, `neural` the neural classifier alone, `both`
the fusion of the two for every text. `cascade` is the shipped setting: linear first, both where the linear answer is
not confident. The calibration error (ECE, 15 bins) is the distance between confidence and accuracy.
""",
    "jailbreak": """
A text counts as an attack from 0.7. Harmful requests without an attack belong to neither class and are left out. The
mean of false positives is over the files, with equal weights. Clean twins are the harmless rows of the attacks' own
files: carriers without their injection, look-alikes in 12 languages. `cascade` is the shipped setting.
""",
    "pii": """
A span counts as found when a finding of its type with at least 0.7 overlaps it. `linear` is the exact recognisers
alone, `neural` the neural classifier alone, `cascade` the shipped setting: both. For tweets the three types that are
labelled there count. The sentences have other words, names and generators of values than training.
""",
}

HARMLESS = """
At 0.7, by the shipped setting. `written` texts (training/pii_harmless.txt) have no personal data: every finding is wrong. Collections (development
files) and this repository's code do name people and places: called wrong are numbers, ages, addresses, and names in
small letters there, though some of these are right (ages of patients, network addresses and names in tests, example
records in security documents); the rest of all findings may be right. Goals: 2 per 1,000 words of prose, 0.5 of code.
"""


def options(tier, precision):
    return ["--precision", precision] if precision else []


def run_name(tier, precision):
    return f"{tier}, {precision}" if precision else tier


def ratio(f, key):
    return common.percent(f[key], f[f"{key}_interval"]) if key in f else "-"


def counted(f, key):
    return f"{ratio(f, key)} of {f[f'{key}_of']}" if key in f else "-"


def shares(f):
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in f["tiers"].items())


def groups(title, key, results, *rates):
    """One table of a grouping: a column for each result and rate."""
    values = dict.fromkeys(v for f in results.values() for v in f["by"].get(key, {}))
    head = [title, *(f"{name}, {rate.replace('_', ' ')}" if len(rates) > 1 else name for name in results for rate in rates)]
    lines = [[v, *(counted(f["by"].get(key, {}).get(v, {}), rate) for f in results.values() for rate in rates)] for v in values]
    return common.table(head, lines)


# ---- domain ----

def domain(args, report):
    files = {name: args.data / name / "dev.jsonl" for name in DOMAIN}
    results = {run: {name: common.evaluate(args.binary, "domain", run[0], [path], *options(*run)) for name, path in files.items()} for run in RUNS}
    lines = []
    for name, bar in DOMAIN.items():
        rows = common.rows_of(files[name])
        labels = [r["label"] for r in rows]
        most = max(labels.count(label) for label in set(labels))
        lines.append([name, len(rows), "majority label", f"{100 * most / len(rows):.1f} %", "-", "-", f"{bar} %" if bar else "-", "-"])
        lines += [[name, f[name]["rows"], run_name(*run), ratio(f[name], "accuracy"), f"{f[name]['macro_f1']:.3f}", f"{f[name]['calibration_error']:.3f}", f"{bar} %" if bar else "-", shares(f[name])]
                  for run, f in results.items()]
    shipped = results[SHIPPED]
    labels = list(next(iter(shipped.values()))["labels"])
    report.add(common.table(["file", "rows", "who answers", "accuracy", "macro F1", "ECE", "goal", "share of the texts"], lines),
               "## By label: recall of the shipped tiers\n", common.table(["label", *shipped], [[x, *(f"{common.percent(f['labels'][x]['recall'], f['labels'][x]['recall_interval'])} of {f['labels'][x]['rows']}" if f["labels"][x]["rows"] else "-" for f in shipped.values())] for x in labels]),
               "## By length in tokens\n", groups("tokens", "tokens", shipped, "accuracy"),
               "## By the tier that answered\n", groups("tier", "tier", shipped, "accuracy"))
    report.figures["domain"] = {run_name(*run): f for run, f in results.items()}


# ---- attacks ----

def jailbreak_files(args, folder):
    """Operands of eval by collection: attacks, harmless samples."""
    attacks, harmless = {}, {}
    for name in common.ATTACKS:
        (folder / name).mkdir()
        attacks[name] = common.write_rows(folder / name / "dev.jsonl", (r for r in common.rows_of(args.data / name / "dev.jsonl") if r["label"] == "jailbreak"))
    for name in common.HARMLESS:
        (folder / name).mkdir()
        rows = common.sample(common.rows_of(args.data / name / "dev.jsonl"), args.harmless, "harmless")
        harmless[name] = f"benign={common.write_rows(folder / name / 'sample.jsonl', [{k: r[k] for k in ('text', 'lang', 'kind') if k in r} for r in rows])}"
    return attacks, harmless


def twins(args):
    return [r["text"] for name in common.ATTACKS for r in common.rows_of(args.data / name / "dev.jsonl") if r["label"] == "benign"]


def lists():
    """Name and texts of each file of harmless texts that share words with attacks, and of the attacks written apart."""
    return {p.stem: [line.replace("\\n", "\n") for line in p.read_text(encoding="utf-8").split("\n") if line.strip() and not line.startswith("# ")]
            for p in [*sorted(common.HERE.glob("lookalikes*.txt")), *common.HERE.glob("attacks_apart.txt")]}


def jailbreak(args, report):
    alike = {**lists(), "clean twins": twins(args)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        attacks, harmless = jailbreak_files(args, folder)
        likes = {stem: common.write_rows(folder / f"{stem}.jsonl", ({"text": t} for t in texts)) for stem, texts in alike.items()}
        results = {run: common.evaluate(args.binary, "jailbreak", run[0], [*attacks.values(), *harmless.values()], "--by", "kind", *options(*run)) for run in GUARD_RUNS}
        for run, f in results.items():
            f["others"] = {stem: common.evaluate(args.binary, "jailbreak", run[0], [f"benign={path}"], *options(*run)) for stem, path in likes.items()}
        for run in (("linear", None), ("neural", "int8"), SHIPPED):
            results[run]["goal"] = common.evaluate(args.binary, "jailbreak", run[0], [attacks["jailbreak-inthewild"], *(harmless[n] for n in GOAL)], *options(*run))
    lines = [[run_name(*run), ratio(f, "recall"), ratio(f, "false_positive_rate"), f"{100 * f['false_positive_rate_mean']:.2f} %", ratio(f, "recall_at_1_mean_fpr"), f"{f['threshold_at_1_mean_fpr']:.3f}",
              *(ratio(g, "false_positive_rate") for g in f["others"].values()), shares(f)] for run, f in results.items()]
    shipped = {"linear": results[("linear", None)], "neural": results[("neural", "int8")], "cascade": results[SHIPPED]}
    first = next(iter(results.values()))
    report.add(f"{first['attacks']} attacks, {first['benign']} harmless texts of {first['benign_files']} files.\n",
               common.table(["who answers", "recall", "false positives", "their mean over files", "recall at a mean of 1 %", "at threshold", *(f"{stem} taken for attacks ({len(texts)})" for stem, texts in alike.items()), "share of the texts"], lines),
               "## In-the-wild attacks beside six harmless collections\n",
               common.table(["who answers", "recall", "false positives, mean over files", "recall at a mean of 1 %", "at threshold"],
                            [[name, ratio(f["goal"], "recall"), f"{100 * f['goal']['false_positive_rate_mean']:.2f} %", ratio(f["goal"], "recall_at_1_mean_fpr"), f"{f['goal']['threshold_at_1_mean_fpr']:.3f}"] for name, f in shipped.items()]),
               "## By file\n", groups("file", "file", shipped, "recall", "false_positive_rate"), "## By kind\n", groups("kind", "kind", shipped, "recall", "false_positive_rate"),
               "## By language, for rows that have one\n", groups("language", "lang", shipped, "recall", "false_positive_rate"),
               "## By length in tokens\n", groups("tokens", "tokens", shipped, "recall", "false_positive_rate"))
    report.figures["jailbreak"] = {run_name(*run): f for run, f in results.items()}


# ---- private data ----

def templates(path, each):
    rng = random.Random(20)
    made = [pii_test_templates.make(kind, rng) for kind in sorted(pii_test_templates.LINES) for _ in range(each)]
    return common.write_rows(path, ({"text": text, "spans": [{"start": a, "end": b, "label": kind} for a, b, kind in spans]} for text, spans in made))


def pii(args, report):
    with tempfile.TemporaryDirectory() as name:
        files = {stem: (args.data / stem / "dev.jsonl", types) for stem, types in PII.items()}
        files["sentences"] = (templates(pathlib.Path(name) / "sentences.jsonl", args.spans), None)
        results = {run: {stem: common.evaluate(args.binary, "pii", run[0], [path], *options(*run), *(["--types", types] if types else [])) for stem, (path, types) in files.items()} for run in PRIVATE_RUNS}
    lines = [[stem, run_name(*run), f[stem]["spans"], f"{f[stem]['f1']:.3f}", ratio(f[stem], "precision"), ratio(f[stem], "recall")] for stem in files for run, f in results.items()]
    shipped = results[SHIPPED]
    types = sorted({t for f in shipped.values() for t in f["types"]})
    report.add(common.table(["file", "who answers", "spans", "F1", "precision", "recall"], lines),
               "## By type: F1 (labelled spans) of the shipped tiers\n", common.table(["type", *shipped], [[t, *(f"{f['types'][t]['f1']:.3f} ({f['types'][t]['spans']})" if t in f["types"] else "-" for f in shipped.values())] for t in types]),
               "## By type: precision and recall of the shipped tiers, on the sentences\n",
               common.table(["type", "precision", "recall"], [[t, ratio(f, "precision"), ratio(f, "recall")] for t, f in shipped["sentences"]["types"].items()]))
    harmless = figures_harmless.measure(args)
    report.add("## Findings in texts of other fields\n", HARMLESS, figures_harmless.table(harmless))
    report.figures["pii"] = {run_name(*run): f for run, f in results.items()}
    report.figures["harmless"] = harmless


def main():
    args = common.arguments(__doc__)
    args.add_argument("--tasks", default="domain,jailbreak,pii")
    args.add_argument("--harmless", type=int, default=300, help="rows of each harmless collection, chosen by their text")
    args.add_argument("--spans", type=int, default=60, help="sentences of each type of private data")
    args = args.parse_args()
    for task, make, title in (("domain", domain, "Domain"), ("jailbreak", jailbreak, "Attacks"), ("pii", pii, "Private data")):
        if task in args.tasks.split(","):
            report = common.Report(args, task, title, WORDS[task], script="eval")
            make(args, report)
            report.write()


if __name__ == "__main__":
    main()
