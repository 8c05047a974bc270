#!/usr/bin/env python3
"""What a head on the frozen trunk of multilingual-e5-small says of attacks in scripts other than Latin, beside what ships.

usage: measure_multilingual.py BINARY DATA   (numpy, scikit-learn: training/.venv-neural; an hour on one busy core)
Train files and the texts written for training only. Techniques, and collections of other origin, are left out in turn (six
folds); look-alikes are spread over the folds. The shipped classifier knows part of these texts from its training, so its
figures flatter it. Prints a table in Markdown; the last one is in docs/quality/multilingual.md.
"""
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import written

FOLDS, MOST, CHARS = 6, 250, 900
HARMLESS = ["benign-coconot", "benign-followbench", "benign-gpteacher", "benign-llmwarden", "benign-prompts", "benign-prompts-zh",
            "benign-real-users", "benign-security-docs", "benign-t0-tasks", "domain-gaokao-zh", "domain-mmlu", "domain-longfact"]
ATTACKS = ["injection-hackaprompt", "injection-handwritten", "injection-tool-output", "injection-yanismiraoui", "jailbreak-evalsafety",
           "jailbreak-inthewild", "jailbreak-jailjudge", "jailbreak-nested-fiction", "jailbreak-pyrit", "jailbreak-short",
           "multilingual-override", "composed-injections"]
ALL_OF = {"multilingual-override": 9999, "injection-yanismiraoui": 9999, "benign-multilingual": 1300, "benign-lobe-agents": 900,
          "domain-gaokao-zh": 9999, "benign-prompts-zh": 9999}
Row = collections.namedtuple("Row", "text attack lang group")


def collected(root):
    chance = random.Random(5)
    for name in [*HARMLESS, "benign-multilingual", "benign-lobe-agents", *ATTACKS]:
        rows = [json.loads(line) for line in (root / name / "train.jsonl").open(encoding="utf-8")]
        chance.shuffle(rows)
        for r in [r for r in rows if r.get("label") != "harmful_request"][:ALL_OF.get(name, MOST)]:
            lang = r.get("lang") or ("zh" if name == "domain-gaokao-zh" else "en")
            yield Row(r["text"][:CHARS], r.get("label") in ("jailbreak", "indirect_injection"), str(lang)[:2], name)


def by_hand():
    chance = random.Random(3)
    for r in written.read():
        if r.lang == "en":
            continue
        text = r.text
        while written.CHOICE.search(text):
            text = written.CHOICE.sub(lambda m: m.group(1).split("|")[0], text)
        yield Row(text[:CHARS], r.attack, r.lang, f"technique {r.kind}" if r.attack else f"look-alikes {chance.randrange(12)}")


def is_foreign(text):
    """A quarter of the letters, and more, are not Latin."""
    letters = [c for c in text if c.isalpha()]
    other = sum("LATIN" not in unicodedata.name(c, "") for c in letters)
    return bool(letters) and other / len(letters) > 0.25


def run(binary, rows, *command):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": r.text}, ensure_ascii=False) + "\n" for r in rows)
        file.flush()
        done = subprocess.run([binary, *command, "--threads", "1", "--jsonl", file.name], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def left_out(x, y, groups):
    """The logit of each row by a regression that saw no row of its fold's groups."""
    names = sorted(set(groups))
    order = np.random.RandomState(0).permutation(len(names))
    fold = np.array([dict(zip((names[i] for i in order), np.arange(len(names)) % FOLDS))[g] for g in groups])
    out = np.zeros(len(y))
    for k in range(FOLDS):
        model = LogisticRegression(C=30, max_iter=3000, class_weight="balanced").fit(x[fold != k], y[fold != k])
        out[fold == k] = model.decision_function(x[fold == k])
    return out


def recall(score, y):
    """At 3 % false alarms."""
    harmless = np.sort(score[~y])[::-1]
    return (score[y] > harmless[int(len(harmless) * 0.03)]).mean()


def main():
    binary, root = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = list({r.text: r for r in (*collected(root), *by_hand())}.values())
    vectors = run(binary, rows, "embed", "--model", "multilingual", "--precision", "bf16")
    y, lang = np.array([r.attack for r in rows]), np.array([r.lang for r in rows])
    score = left_out(np.array([v["embedding"] for v in vectors], np.float32), y, [r.group for r in rows])
    foreign = np.array([is_foreign(r.text) for r in rows])
    asked = [r for r, f in zip(rows, foreign) if f]
    shipped = np.array([a["score"] for a in run(binary, asked, "classify", "--task", "jailbreak", "--tier", "neural")])
    y, lang, score = y[foreign], lang[foreign], score[foreign]
    print("| language | texts | attacks | MiniLM, shipped | multilingual, frozen |\n| --- | --- | --- | --- | --- |")
    print(f"| all: AUC | {len(y)} | {y.sum()} | {roc_auc_score(y, shipped):.3f} | {roc_auc_score(y, score):.3f} |")
    print(f"| all: attacks found at 3 % false alarms | | | {recall(shipped, y):.1%} | {recall(score, y):.1%} |")
    for name, n in collections.Counter(lang).most_common():
        at = lang == name
        if n >= 60 and 0 < y[at].sum() < n:
            print(f"| {name}: AUC | {n} | {y[at].sum()} | {roc_auc_score(y[at], shipped[at]):.3f} | {roc_auc_score(y[at], score[at]):.3f} |")


if __name__ == "__main__":
    main()
