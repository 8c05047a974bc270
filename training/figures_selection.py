"""What the algorithm `learned` is worth: quality against cost on questions whose answers by two models are known.

    python3 figures_selection.py [--vectors FOLDER]

The predictor is fitted by the binary (`semroute train selection`) to the train rows of each collection and measured on its dev
rows (`semroute eval --task selection`); without dev rows by folds. --vectors is a folder that keeps vectors between runs: making
them takes most of the time.
"""
import hashlib
import json
import pathlib
import tempfile

import figures_common as common
import figures_routing as routing

WEAK_COST = 0.04  # of the strong model's: what RouteLLM says of its pair
WORDS = """
Each question goes to one of two models whose answers are known. The predictor of `semroute train selection` is fitted to
train rows; the figures are of dev rows, which chose nothing, and, where a collection has none, of five folds, each predicted
by the others. A text is never in two folds. Train and dev rows are of the same exams: a router's own log is what this is
for, so figures of other texts than those it was fitted to are lower.

- **gain** is what the predictor is ahead of a coin that costs the same, in points of accuracy, at the best setting for that
  cost; the cost of the weak model counts as 4 % of the strong one's.
- **APGR** (arXiv:2406.18665) is the mean share of the gap between the two models that is recovered, over all shares of
  questions that go to the strong one; a coin has 0.5. That paper reports about 0.60 for its matrix factorisation on MMLU,
  trained on preferences and 1,500 labelled questions of MMLU and measured over all subjects. It is no peer in
  the same run: it was trained on other data, and on less of MMLU.
- **AIQ** (arXiv:2403.12031) is the mean accuracy over the range of costs, on the convex hull of the settings.
- **category** is the rule by the domain classifier's label, chosen on train rows ([routing](routing.md)).
"""
COLLECTIONS = ("routing-mmlu-routellm", "routing-mmlu-pro", "routing-gsm8k")


def outcomes(rows):
    return [{"text": r["text"], "correct": {"weak": int(r["weak"]), "strong": int(r["strong"])}, "cost": {"weak": WEAK_COST, "strong": 1}} for r in rows]


def split(args, name):
    """Train and dev rows with `weak` and `strong`; without a file of dev rows there are none."""
    train = common.rows_of(args.data / name / "train.jsonl")
    path = args.data / name / "dev.jsonl"
    dev = common.rows_of(path) if path.exists() else []
    if "correct" in train[0]:
        strong, weak, _ = routing.choose_models(train)
        return *([dict(r, strong=r["correct"].get(strong, 0), weak=r["correct"].get(weak, 0)) for r in rows] for rows in (train, dev)), f"{strong} and {weak}"
    return *([dict(r, strong=r["strong_correct"], weak=r["weak_correct"]) for r in rows] for rows in (train, dev)), "gpt-4-1106-preview and Mixtral-8x7B-Instruct-v0.1"


def vectors_of(args, log):
    """The file with the vectors of a log's lines."""
    name = hashlib.sha256(log.read_bytes()).hexdigest()[:24]
    path = args.vectors / f"{name}.jsonl"
    if not path.exists():
        path.write_text(common.run(args.binary, "embed", "--json", "--jsonl", log))
    return path


def figures(args, name, folder):
    train, dev, models = split(args, name)
    log = common.write_rows(folder / f"{name}.jsonl", outcomes(train))
    vectors = vectors_of(args, log)
    model = folder / f"{name}.json"
    common.run(args.binary, "train", "selection", log, "--vectors", vectors, "-o", model)
    picture = ["--svg", args.out / f"selection-{name}.svg"]
    base = ("eval", "--task", "selection", "--json")
    folds = json.loads(common.run(args.binary, *base, log, "--vectors", vectors, *(picture if not dev else [])))
    found = {"models": models, "train": len(train), "folds": brief(folds)}
    if dev:
        there = common.write_rows(folder / f"{name}-dev.jsonl", outcomes(dev))
        found["dev"] = brief(json.loads(common.run(args.binary, *base, there, "--vectors", vectors_of(args, there), "--selection", model, *picture)))
    return found


def brief(curve):
    return {key: curve[key] for key in ("texts", "models", "by_cost", "aiq", "apgr")}


def ahead(curve, cost):
    near = min(curve["by_cost"], key=lambda p: abs(p["cost"] - cost))
    return 100 * (near["router"] - near["coin"])


def category_gain(args, name):
    """The best gain of the rule by category, of the page about routing."""
    path = args.out / "routing.json"
    rules = json.loads(path.read_text()).get(name, {}).get("rules", []) if path.exists() else []
    gains = [r["gain"] for r in rules if r["rule"].startswith("category")]
    return f"{100 * max(gains):+.1f}" if gains else "-"


def main():
    args = common.arguments(__doc__)
    args.add_argument("--vectors", type=pathlib.Path)
    args.add_argument("--collections", default=",".join(COLLECTIONS))
    args = args.parse_args()
    report = common.Report(args, "selection", "Which model, learned from outcomes", WORDS)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        args.vectors = args.vectors or pathlib.Path(folder)
        args.vectors.mkdir(parents=True, exist_ok=True)
        args.out.mkdir(parents=True, exist_ok=True)
        for name in args.collections.split(","):
            found = report.figures[name] = figures(args, name, pathlib.Path(folder))
            for part in ("dev", "folds"):
                if part not in found:
                    continue
                curve = found[part]
                apgr = curve.get("apgr")
                lines.append([name, "dev rows" if part == "dev" else "folds of train rows", curve["texts"],
                              f"{apgr['value']:.3f} ({apgr['low']:.3f}-{apgr['high']:.3f})" if apgr else "-",
                              *(f"{curve['aiq'][k]:.4f}" for k in ("router", "coin", "best_possible")),
                              *(f"{ahead(curve, cost):+.1f}" for cost in (0.232, 0.52, 0.808)), category_gain(args, name)])
    report.add(common.table(["collection", "measured on", "texts", "APGR (95 %)", "AIQ", "of a coin", "best possible", "gain at 23 %",
                             "at 52 %", "at 81 % of the cost", "category, best gain"], lines))
    for name in args.collections.split(","):
        found = report.figures[name]
        report.add(f"## {name}\n", f"{found['models']}, {found['train']} train rows.\n", f"![{name}](selection-{name}.svg)\n")
    report.write()


if __name__ == "__main__":
    main()
