"""Scores the built binary on labelled development files, and holds it to the committed figures.

    python3 dev_figures.py [--binary ../build/semroute] [--data ../../shared/data] [--reference] [--record]

Needs nothing but Python. Fails when a file is not there, when the binary's labels are not those that
models/domain-linear/dev.json records, or when a bar is missed that the record does not miss. `--reference` (from
training/.venv) also evaluates every row with training/table.py and fails unless all labels agree; `--record` does
the same and writes dev.json. Nothing is chosen by these figures; they are the last thing that is looked at.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODEL = HERE.parent / "models" / "domain-linear"
FILES = {"mmlu-pro": "domain-mmlu-pro/dev.jsonl", "mmlu": "domain-mmlu/dev.jsonl", "longfact": "domain-longfact/dev.jsonl"}
BARS = {"mmlu-pro": 81.5, "mmlu": 80.0, "longfact": 82.5}


def ask(binary, path):
    """The binary's answers to the file's rows, in order."""
    command = [binary, "classify", "--task", "domain", "--tier", "linear", "--json", "--jsonl", path]
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.decode().split("\n") if line.strip()]


def macro_f1(pairs):
    scores = []
    for label in sorted({want for want, _ in pairs}):
        both = sum(w == g == label for w, g in pairs)
        scores.append(2 * both / (sum(w == label for w, _ in pairs) + sum(g == label for _, g in pairs)))
    return sum(scores) / len(scores)


def calibration_error(answers, right, bins=15):
    boxes = [[] for _ in range(bins)]
    for answer, ok in zip(answers, right):
        boxes[min(int(answer["confidence"] * bins), bins - 1)].append((answer["confidence"], ok))
    return sum(abs(sum(c for c, _ in box) - sum(ok for _, ok in box)) for box in boxes) / len(right)


def reference_labels(rows):
    import table
    model, metadata = table.Model.load(MODEL / "model.safetensors")
    labels = metadata["labels"].split("|")
    return [labels[int(model.logits(row["text"].encode()).argmax())] for row in rows]


def score(rows, answers):
    """What dev.json records of a file; `labels` is a hash of all of the binary's answers."""
    pairs = [(row["label"], answer["label"]) for row, answer in zip(rows, answers)]
    right = [want == got for want, got in pairs]
    majority = collections.Counter(want for want, _ in pairs).most_common(1)[0][1]
    return {"rows": len(rows), "right": sum(right), "accuracy": round(100 * sum(right) / len(rows), 2),
            "majority_label": round(100 * majority / len(rows), 2),
            "macro_f1": round(macro_f1(pairs), 3), "ece": round(calibration_error(answers, right), 3),
            "labels": hashlib.sha256("\n".join(got for _, got in pairs).encode()).hexdigest()}


def problems(name, got, recorded):
    """What is wrong with a file's figures, in words."""
    if not recorded:
        return [f"{name}: dev.json has no figures of it"]
    found = [f"{name}: {key} {got[key]}, dev.json says {recorded[key]}"
             for key in ("rows", "right", "labels") if got[key] != recorded[key]]
    if abs(got["ece"] - recorded["ece"]) > 0.002:
        found.append(f"{name}: calibration error {got['ece']}, dev.json says {recorded['ece']}")
    if got["accuracy"] < BARS[name] and got["right"] < recorded["right"]:
        found.append(f"{name}: {got['accuracy']} % is under the bar of {BARS[name]} %")
    return found


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", type=pathlib.Path, default=HERE.parent / "build" / "semroute")
    args.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent / "shared" / "data")
    args.add_argument("--reference", action="store_true")
    args.add_argument("--record", action="store_true")
    args = args.parse_args()
    record = MODEL / "dev.json"
    recorded = json.loads(record.read_text()) if record.exists() else {}
    wrong, figures = [], {}
    print(f"{'file':10} {'rows':>6} {'accuracy':>9} {'bar':>6} {'macro F1':>9} {'ECE':>6} {'median us':>10}")
    for name, part in FILES.items():
        path = args.data / part
        if not path.exists():
            sys.exit(f"{path}: not there")
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        answers = ask(args.binary, path)
        if len(answers) != len(rows):
            sys.exit(f"{path}: {len(rows)} rows, {len(answers)} answers")
        got = figures[name] = score(rows, answers)
        times = sorted(answer["us"] for answer in answers)
        print(f"{name:10} {got['rows']:6} {got['accuracy']:8.2f}% {BARS[name]:5}% {got['macro_f1']:9.3f} "
              f"{got['ece']:6.3f} {times[len(times) // 2]:10.1f}")
        if got["accuracy"] < BARS[name]:
            print(f"{'':10} {BARS[name] - got['accuracy']:.2f} points under the bar")
        if args.reference or args.record:
            differing = sum(want != answer["label"] for want, answer in zip(reference_labels(rows), answers))
            print(f"{'':10} rows on which the binary and training/table.py differ: {differing}")
            if differing:
                wrong.append(f"{name}: C and Python differ")
        if not args.record:
            wrong += problems(name, got, recorded.get(name))
    for line in wrong:
        print(line, file=sys.stderr)
    if args.record and not wrong:
        record.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
