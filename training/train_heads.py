"""Fits the heads of the signals fact_check and user_feedback: softmax regression on the vectors that the router
itself computes (`semroute embed`). Writes models/signal-heads/.

    python3 training/train_heads.py --data ../shared/data --semroute build/semroute
"""
import argparse
import hashlib
import json
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy
from heads_texts import fact_check, feedback

ROOT = Path(__file__).resolve().parent.parent
FACT = ["no_fact_check_needed", "needs_fact_check"]
FEEDBACK = ["satisfied", "need_clarification", "wrong_answer", "want_different", "none"]
PROBE = "How near is this sentence to itself in another process?"


def embed(program, texts):
    """[n, dimensions], by the router's own code."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for text in texts:
            file.write(json.dumps({"text": text}) + "\n")
        file.flush()
        out = subprocess.run([program, "embed", "--jsonl", file.name], check=True, capture_output=True, text=True)
    return numpy.array([json.loads(line)["embedding"] for line in out.stdout.splitlines()], dtype=numpy.float32)


MOST = 400  # rows of a source
LENGTH = 400  # characters of a row


def rows(path, most=None):
    lines = [json.loads(line) for line in open(path, encoding="utf-8")]
    if most and len(lines) > most:
        lines = [lines[i] for i in numpy.random.default_rng(7).choice(len(lines), most, replace=False)]
    return lines


def softmax(z):
    z = numpy.exp(z - z.max(axis=1, keepdims=True))
    return z / z.sum(axis=1, keepdims=True)


def fit(x, y, weights, n, decay, rounds=300, rate=8.0):
    """Full-batch gradient descent with momentum; deterministic."""
    w, b = numpy.zeros((n, x.shape[1]), numpy.float32), numpy.zeros(n, numpy.float32)
    vw, vb = numpy.zeros_like(w), numpy.zeros_like(b)
    onehot = numpy.eye(n, dtype=numpy.float32)[y]
    weights = (weights / weights.sum()).astype(numpy.float32)
    for _ in range(rounds):
        error = (softmax(x @ w.T + b) - onehot) * weights[:, None]
        vw = 0.9 * vw - rate * (error.T @ x + decay * w)
        vb = 0.9 * vb - rate * error.sum(axis=0)
        w, b = w + vw, b + vb
    return w, b


def balanced(y, source):
    """Every label weighs the same, and in it every source."""
    weights = numpy.zeros(len(y))
    for label in set(y.tolist()):
        names = sorted({s for s, k in zip(source, y) if k == label})
        for name in names:
            at = numpy.array([k == label and s == name for s, k in zip(source, y)])
            weights[at] = 1 / (len(names) * at.sum())
    return weights


def left_out(x, y, source, groups, n, decay):
    """Accuracy and macro-F1 of rows whose group no fold has learned, by source."""
    guess = numpy.full(len(y), -1)
    names = sorted(set(groups))
    order = numpy.random.default_rng(3).permutation(len(names))
    for fold in range(5):
        held = {names[i] for i in order[fold::5]}
        test = numpy.array([g in held for g in groups])
        w, b = fit(x[~test], y[~test], balanced(y[~test], [s for s, t in zip(source, test) if not t]), n, decay)
        guess[test] = (x[test] @ w.T + b).argmax(axis=1)
    table = {}
    for name in sorted(set(source)):
        at = numpy.array([s == name for s in source])
        table[name] = [int(at.sum()), round(float((guess[at] == y[at]).mean()), 4)]
    f1 = []
    for label in range(n):
        hit = int(((guess == label) & (y == label)).sum())
        f1.append(2 * hit / max(1, int((guess == label).sum() + (y == label).sum())))
    table["macro F1"] = [len(y), round(float(numpy.mean(f1)), 4)]
    return table


def unseen_sources(x, y, source, n, decay):
    """Accuracy on each source when nothing of it was learned."""
    table = {}
    for name in sorted(set(source)):
        test = numpy.array([s == name for s in source])
        if len(set(y[~test].tolist())) < n:
            continue
        w, b = fit(x[~test], y[~test], balanced(y[~test], [s for s, t in zip(source, test) if not t]), n, decay)
        table[name] = [int(test.sum()), round(float(((x[test] @ w.T + b).argmax(axis=1) == y[test]).mean()), 4)]
    return table


def fact_rows(data):
    out, taken = [], {}
    for row in rows(data / "factcheck-weak/train.jsonl"):
        source = row["source"].split("/")[0]
        taken[source] = taken.get(source, 0) + 1
        if taken[source] > MOST:
            continue
        out.append((row["text"][:LENGTH], FACT.index("needs_fact_check" if row["label"] == "FACT_CHECK_NEEDED" else FACT[0]), source,
                    row["source"] + str(len(out))))
    for text, label, group in fact_check():
        out.append((text, FACT.index(label), "written", group))
    return out


def feedback_rows(data):
    names = {"SAT": "satisfied", "NEED_CLARIFICATION": "need_clarification", None: "none"}
    out, taken = [(text, FEEDBACK.index(label), "written", group) for text, label, group in feedback()], {}
    for row in rows(data / "feedback-weak-nlupp/train.jsonl"):
        label = names.get(row["weak_label"])
        taken[label] = taken.get(label, 0) + 1
        if label and taken[label] <= MOST:
            out.append((row["text"], FEEDBACK.index(label), "nlupp", f"nlupp{len(out)}"))
    for folder in ("intent-banking77", "domain-longfact", "domain-mmlu"):
        for row in rows(data / folder / "train.jsonl", MOST // 2):
            out.append((row["text"][:LENGTH], FEEDBACK.index("none"), folder, f"{folder}{len(out)}"))
    return out


def write(path, tensors, metadata):
    """safetensors, tensors by name."""
    header, data = {"__metadata__": metadata}, b""
    for name in sorted(tensors):
        value = numpy.ascontiguousarray(tensors[name], dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--semroute", default=str(ROOT / "build/semroute"))
    parser.add_argument("--out", type=Path, default=ROOT / "models/signal-heads")
    args = parser.parse_args()
    tensors, figures = {"probe": embed(args.semroute, [PROBE])[0]}, {}
    for task, labels, made in (("fact_check", FACT, fact_rows), ("user_feedback", FEEDBACK, feedback_rows)):
        texts, y, source, groups = zip(*made(args.data))
        x, y = embed(args.semroute, texts), numpy.array(y)
        decay = 1e-4
        w, b = fit(x, y, balanced(y, source), len(labels), decay)
        tensors[f"{task}.weight"], tensors[f"{task}.bias"] = w, b
        figures[task] = {"labels": labels, "rows": len(y), "left out groups": left_out(x, y, source, groups, len(labels), decay),
                         "left out sources": unseen_sources(x, y, source, len(labels), decay)}
        if task == "fact_check":
            dev = rows(args.data / "factcheck-weak/dev.jsonl")
            truth = numpy.array([int(row["label"] == "FACT_CHECK_NEEDED") for row in dev])
            z = embed(args.semroute, [row["text"][:LENGTH] for row in dev]) @ w.T + b
            figures[task]["dev"] = [len(dev), round(float((z.argmax(axis=1) == truth).mean()), 4)]
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "model.safetensors", tensors,
          {"trunk": "all-MiniLM-L6-v2", "probe": PROBE, "fact_check": ",".join(FACT), "user_feedback": ",".join(FEEDBACK)})
    blob = (args.out / "model.safetensors").read_bytes()
    figures["sha256"] = hashlib.sha256(blob).hexdigest()
    (args.out / "train.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
