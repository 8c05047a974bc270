#!/usr/bin/env python3
"""The map of questions towards tools (models/tools): question + up^T (down question), on the default encoder's vectors.

    training/.venv/bin/python training/train_tools.py

Reads ../shared/data/tools-metatool: train.jsonl is trained on; dev.jsonl is only measured. All choices are those of
five folds over the *tools*: a tool is known by its description alone, as users' own tools are. Embeddings are made by
build/semroute and kept in build/tools-training. Writes models/tools/model.safetensors and card.md."""
import hashlib
import json
import math
import pathlib
import re
import subprocess
import sys
from collections import Counter

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared/data/tools-metatool"
WORK = ROOT / "build/tools-training"
OUT = ROOT / "models/tools"
SEED, FOLDS, RANK = 20261123, 5, 64
CHOICES = {"rate": 5e-4, "steps": 300, "decay": 3e-4, "scale": 20.0, "batch": 1024, "lexical": 0.01}
COMMON = set("a an and are as at be by can for from i in is it me my of on or that the this to with you your".split())


def rows(name):
    return [json.loads(line) for line in open(DATA / f"{name}.jsonl", encoding="utf-8")]


def embed(name, texts):
    """Vectors [n][384] of texts, from a file when it is of these texts."""
    WORK.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    kept = WORK / f"{name}-{hashlib.sha256(lines.encode()).hexdigest()[:16]}.npy"
    if not kept.exists():
        done = subprocess.run([ROOT / "build/semroute", "embed", "--jsonl", "-"], input=lines, text=True, check=True,
                              stdout=subprocess.PIPE)
        np.save(kept, np.array([json.loads(line)["embedding"] for line in done.stdout.splitlines()], np.float32))
    return np.load(kept)


def words(text):
    """As src/router/toolbox/words.c: capitals begin words, common words go, English endings are cut."""
    found = []
    for word in re.findall(r"[^\W_]+", re.sub(r"([^\W_A-Z])([A-Z])", r"\1 \2", text)):
        word = word.lower()
        if word in COMMON:
            continue
        for ending in ("ing", "es", "ed", "ly", "s"):
            if word.endswith(ending) and len(word) >= len(ending) + 3:
                word = word[:-len(ending)]
                break
        found.append(word)
    return found


def bm25(questions, tools):
    """Scores [questions][tools]."""
    documents = [words(tool) for tool in tools]
    having = Counter(word for document in documents for word in set(document))
    mean = sum(map(len, documents)) / len(documents)
    column = {word: i for i, word in enumerate(having)}
    weights = np.zeros((len(column), len(tools)), np.float32)
    for j, document in enumerate(documents):
        for word, f in Counter(document).items():
            rarity = math.log(1 + (len(tools) - having[word] + 0.5) / (having[word] + 0.5))
            weights[column[word], j] = rarity * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(document) / mean))
    scores = np.zeros((len(questions), len(tools)), np.float32)
    for i, question in enumerate(questions):
        for word in set(words(question)):
            if word in column:
                scores[i] += weights[column[word]]
    return scores


def fit(questions, answers, tools, choices):
    """A full matrix by the softmax over all tools, drawn back to the identity; Adam on random batches."""
    rng = np.random.default_rng(SEED)
    d = questions.shape[1]
    identity = np.eye(d, dtype=np.float32)
    matrix, first, second = identity.copy(), np.zeros((d, d), np.float32), np.zeros((d, d), np.float32)
    weight = 1 / np.sqrt(np.maximum(np.bincount(answers, minlength=len(tools)), 1))[answers]
    weight /= weight.mean()
    for step in range(1, choices["steps"] + 1):
        batch = rng.integers(0, len(questions), choices["batch"])
        x = questions[batch]
        logits = choices["scale"] * (x @ matrix @ tools.T)
        p = np.exp(logits - logits.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        p[np.arange(len(batch)), answers[batch]] -= 1
        p *= weight[batch, None]
        gradient = choices["scale"] * (x.T @ (p @ tools)) / len(batch) + choices["decay"] * d * (matrix - identity)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient * gradient
        matrix -= choices["rate"] * (first / (1 - 0.9 ** step)) / (np.sqrt(second / (1 - 0.99 ** step)) + 1e-6)
    return matrix


def low_rank(matrix):
    """down [rank][d], up [rank][d]: question + up^T (down question) is about question @ matrix."""
    u, s, v = np.linalg.svd(matrix - np.eye(len(matrix), dtype=np.float32))
    root = np.sqrt(s[:RANK])
    return (u[:, :RANK] * root).T.astype(np.float16), (v[:RANK] * root[:, None]).astype(np.float16)


def apply(x, pair):
    down, up = (part.astype(np.float32) for part in pair)
    return x + (x @ down.T) @ up


def save(path, tensors):
    """safetensors: the length of the header, the header as JSON, the data."""
    header, data = {"__metadata__": {"encoder": "all-MiniLM-L6-v2", "task": "tools"}}, b""
    for name, tensor in sorted(tensors.items()):
        piece = np.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header, separators=(",", ":"), sort_keys=True)
    text += " " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + data)


def hits(scores, answers, k):
    top = np.argpartition(-scores, k, axis=1)[:, :k]
    return (top == answers[:, None]).any(1)


def left_out(questions, answers, asked, wanted, tools, words_of, choices):
    """Hits at 1, 3, 5 for each of `asked`, by the map of the fold that never saw its tool."""
    folds = np.random.default_rng(SEED).permutation(len(tools)) % FOLDS
    out = {k: np.zeros(len(asked), bool) for k in (1, 3, 5)}
    for fold in range(FOLDS):
        keep = np.where(folds != fold)[0]
        number = np.full(len(tools), -1)
        number[keep] = np.arange(len(keep))
        seen, here = folds[answers] != fold, folds[wanted] == fold
        pair = low_rank(fit(questions[seen], number[answers[seen]], tools[keep], choices))
        scores = apply(asked[here], pair) @ tools.T + choices["lexical"] * words_of[here]
        for k in out:
            out[k][here] = hits(scores, wanted[here], k)
    return {k: float(v.mean()) for k, v in out.items()}


def main():
    listed = rows("tools")
    number = {tool["tool"]: i for i, tool in enumerate(listed)}
    texts = [f"{tool['tool']}: {tool['description']}" for tool in listed]
    tools = embed("tools", texts)
    train, dev = rows("train"), rows("dev")
    x, z = (embed(name, [row["text"] for row in part]) for name, part in (("train", train), ("dev", dev)))
    y, w = (np.array([number[row["tool"]] for row in part]) for part in (train, dev))
    lexical = {"train": bm25([row["text"] for row in train], texts), "dev": bm25([row["text"] for row in dev], texts)}
    table = []

    def line(name, scores, wanted):
        table.append((name, *(float(hits(scores, wanted, k).mean()) for k in (1, 3, 5))))

    line("words alone (BM25)", lexical["dev"], w)
    line("vectors alone", z @ tools.T, w)
    line("vectors and words", z @ tools.T + CHOICES["lexical"] * lexical["dev"], w)
    found = left_out(x, y, z, w, tools, lexical["dev"], CHOICES)
    table.append(("map, vectors and words; the question's tool left out of training", found[1], found[3], found[5]))
    pair = low_rank(fit(x, y, tools, CHOICES))
    line("the same, all tools trained on", apply(z, pair) @ tools.T + CHOICES["lexical"] * lexical["dev"], w)
    if "--choose" in sys.argv:
        for change in ({}, {"decay": 1e-3}, {"decay": 1e-4}, {"steps": 150}, {"steps": 600}, {"lexical": 0.02},
                       {"lexical": 0.005}, {"scale": 30.0}):
            figures = left_out(x, y, x, y, tools, lexical["train"], {**CHOICES, **change})
            print("train, by fold:", change or "as chosen", {k: round(v, 4) for k, v in figures.items()}, flush=True)
    OUT.mkdir(parents=True, exist_ok=True)
    save(OUT / "model.safetensors", {"down": pair[0], "up": pair[1]})
    for row in table:
        print("%-70s %.3f %.3f %.3f" % row)
    write_card(table, len(train), len(dev), len(tools))


def write_card(table, n_train, n_dev, n_tools):
    lines = "\n".join("| %s | %.3f | %.3f | %.3f |" % row for row in table)
    (OUT / "card.md").write_text(f"""# The map of questions towards tools

Tools are ranked by the cosine of a question and a tool's name and description, and by the words that they share. The
question is first moved towards tools by this map: question + up^T (down question), two matrices of rank {RANK} over the
vectors of all-MiniLM-L6-v2. `training/train_tools.py` makes it.

| | |
| --- | --- |
| data | MetaTool (MIT): {n_train:,} questions and the tool that answers each, of {n_tools} tools |
| judged on | {n_dev:,} other questions of the same tools (dev.jsonl), never trained on |
| chosen by | five folds over the tools of the training questions |
| shipped choices | {", ".join(f"{name} {value:g}" for name, value in CHOICES.items())} |

Recall of the right tool among {n_tools}, on the development questions:

| | at 1 | at 3 | at 5 |
| --- | --- | --- | --- |
{lines}

The row with the tool left out is what users' own tools may expect: no question of that tool was trained on. The last
row knows all tools.

The data are questions in English, written by language models, about plugins of one shop. Tools in other languages, and
tools with long parameter lists that differ little, were not measured.
""", encoding="utf-8")


if __name__ == "__main__":
    main()
