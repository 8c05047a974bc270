"""Leave-one-source-out tables of the domain task: heads on the frozen trunk, a TF-IDF linear SVM, and their sum.

    python leave_out.py --trunk DIR --data ../../shared/data --work DIR

The trunk's outputs are computed once and kept in --work. Each collection of data.collection_of is left out once; for chat the
longfact dev file is scored as well, which nothing here is chosen by.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC

import data
import fit
import neural_eval as je
import neural_model
import trunk

MOST = 96
HERE = pathlib.Path(__file__).resolve().parent


@torch.no_grad()
def features_of(folder, texts, layers=(3, 6), tokens=6144):
    """Mean-pooled hidden states after the layers, each of length 1, side by side."""
    tensors, config = trunk.weights(folder)
    model = neural_model.Neural(tensors, config, 1, 1, {}, {}).eval()
    model.merge()
    ids = [trunk.wrap(i[:MOST]) for i, _ in trunk.encode(trunk.tokenizer(folder), texts)]
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    out = np.zeros((len(ids), 384 * len(layers)), np.float32)
    at = 0
    while at < len(order):
        end = at + 1
        while end < len(order) and (end - at + 1) * len(ids[order[end]]) <= tokens:
            end += 1
        mine = order[at:end]
        width = max(len(ids[i]) for i in mine)
        batch, real = np.zeros((len(mine), width), np.int64), np.zeros((len(mine), width), np.float32)
        for k, i in enumerate(mine):
            batch[k, :len(ids[i])], real[k, :len(ids[i])] = ids[i], 1
        states = model.states(torch.from_numpy(batch), torch.from_numpy(real))
        weight = torch.from_numpy(real)[..., None]
        pooled = [(states[l] * weight).sum(1) / weight.sum(1) for l in layers]
        out[mine] = np.concatenate([p / p.norm(dim=1, keepdim=True) for p in pooled], 1)
        at = end
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--collections", default="chat,workbooks,chinese")
    args = args.parse_args()
    torch.set_num_threads(1)
    rows, _ = data.load(args.data)
    dev = je.rows_of(args.data / "domain-longfact" / "dev.jsonl")
    texts = [r.text for r in rows] + [r["text"] for r in dev]
    kept = args.work / "trunk-features.npy"
    if not kept.exists():
        np.save(kept, features_of(trunk.find(args.trunk), texts))
    x = np.load(kept)
    y = np.array([r.label for r in rows] + [data.LABELS.index(r["label"]) for r in dev])
    collection = np.array([r.collection for r in rows] + ["chat"] * len(dev))
    is_dev = np.arange(len(y)) >= len(rows)
    words = make_union(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=3, max_features=400000))
    out = {}
    for name in args.collections.split(","):
        inside = (collection != name) & ~is_dev
        tests = {name: (collection == name) & ~is_dev}
        if name == "chat":
            tests["longfact dev"] = is_dev
        head = LogisticRegression(C=20, max_iter=200).fit(x[inside], y[inside])
        vectors = words.fit_transform([texts[i] for i in np.nonzero(inside)[0]])
        svm = LinearSVC(C=0.3).fit(vectors, y[inside])
        for label, mask in tests.items():
            at = np.nonzero(mask)[0]
            a, b = je.log_p(head.decision_function(x[at])), je.log_p(3 * svm.decision_function(words.transform([texts[i] for i in at])))
            out[label] = {"rows": len(at), "majority": round(100 * np.bincount(y[at]).max() / len(at), 1), **{n: round(100 * float((s.argmax(1) == y[at]).mean()), 1) for n, s in (("frozen trunk", a), ("SVM", b), ("sum", a + b))}}
            print(label, json.dumps(out[label]), flush=True)
    (HERE.parent / "models" / "neural" / "left_out.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
