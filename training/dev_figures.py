"""Scores the built binary on labelled development files: accuracy, macro F1, calibration error, microseconds.

    python3 dev_figures.py [--binary ../build/semroute] [--data ../../shared/data] [--task domain] [--tier linear]
                           [--reference]

Needs nothing but Python. `--reference` (from training/.venv) also evaluates every row with training/table.py and
fails unless all labels agree. Nothing is chosen by these figures; they are the last thing that is looked at.
"""
import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = {"mmlu-pro": "domain-mmlu-pro/dev.jsonl", "mmlu": "domain-mmlu/dev.jsonl", "longfact": "domain-longfact/dev.jsonl"}
BARS = {"mmlu-pro": 81.5, "mmlu": 80.0, "longfact": 82.5}


def ask(binary, task, tier, path):
    """The binary's answers to the file's rows, in order."""
    command = [binary, "classify", "--task", task, "--tier", tier, "--json", "--jsonl", path]
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
    model, metadata = table.Model.load(HERE.parent / "models" / "domain-linear" / "model.safetensors")
    labels = metadata["labels"].split("|")
    return [labels[int(model.logits(row["text"].encode()).argmax())] for row in rows]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", type=pathlib.Path, default=HERE.parent / "build" / "semroute")
    args.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent / "shared" / "data")
    args.add_argument("--task", default="domain")
    args.add_argument("--tier", default="linear")
    args.add_argument("--reference", action="store_true")
    args = args.parse_args()
    differing = 0
    print(f"{'file':10} {'rows':>6} {'accuracy':>9} {'bar':>6} {'macro F1':>9} {'ECE':>6} {'median us':>10}")
    for name, part in FILES.items():
        path = args.data / part
        if not path.exists():
            print(f"{name:10} not there: {path}")
            continue
        rows = [json.loads(line) for line in path.open(encoding="utf-8")]
        answers = ask(args.binary, args.task, args.tier, path)
        if len(answers) != len(rows):
            sys.exit(f"{path}: {len(rows)} rows, {len(answers)} answers")
        pairs = [(row["label"], answer["label"]) for row, answer in zip(rows, answers)]
        right = [want == got for want, got in pairs]
        times = sorted(answer["us"] for answer in answers)
        print(f"{name:10} {len(rows):6} {100 * sum(right) / len(rows):8.2f}% {BARS[name]:5}% {macro_f1(pairs):9.3f} "
              f"{calibration_error(answers, right):6.3f} {times[len(times) // 2]:10.1f}")
        if args.reference:
            differing += sum(want != answer["label"] for want, answer in zip(reference_labels(rows), answers))
    if args.reference:
        print(f"rows on which the binary and training/table.py differ: {differing}")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
