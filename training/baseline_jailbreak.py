"""A TF-IDF linear SVM (words 1-2, characters 2-5) on the jailbreak task's files, beside which the models are judged.

    python baseline_jailbreak.py --data ../../shared/data

Trained on the train files as they are, without what our generators make. Its threshold is what one in a hundred of the harmless
texts exceeds, as the mean over their sources: out of fold on the train files, and on the development files for the
recall at that point. Writes models/neural/baseline.json. Needs scikit-learn (setup_neural.sh).
"""
import argparse
import json
import pathlib

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC

import evaluate_neural as ej
import jailbreak_data as jd

HERE = pathlib.Path(__file__).resolve().parent


def fitted(texts, y):
    words = make_union(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2), TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=3, max_features=300000))
    svm = LinearSVC(C=0.5, class_weight="balanced").fit(words.fit_transform(texts), y)
    return lambda some: svm.decision_function(words.transform(some))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args = args.parse_args()
    rows = [r for r in jd.load(args.data, {k: 0 for k in jd.MADE})[0] if not r.source.startswith("written") and r.source != "requests"]
    texts, y = [r.text for r in rows], np.array([r.label for r in rows])
    fold = np.array([jd.fold_of(r.group) for r in rows])
    margin = np.zeros(len(y))
    for f in range(jd.FOLDS):
        out = np.nonzero(fold == f)[0]
        margin[out] = fitted([texts[i] for i in np.nonzero(fold != f)[0]], y[fold != f])([texts[i] for i in out])
        print(f"fold {f}", flush=True)
    skip = {"composed-injections", "llmguard-tests", "jailbreak-bipia", "multilingual-override"}
    limit = jd.threshold_at(margin[y == 0], [r.source for r in rows if not r.label], 0.01, skip)
    score = fitted(texts, y)
    report = {"folds": {s: [int(m.sum()), round(float((margin[m] >= limit).mean()), 4)] for s in sorted({r.source for r in rows if r.label}) for m in [np.array([r.source == s and r.label == 1 for r in rows])]}, "dev": {}}
    harmless, sources, attacks = [], [], {}
    for name in dict.fromkeys(ej.ATTACKS + ej.HARMLESS):
        mine = ej.jailbreak_rows(args.data / name / "dev.jsonl")
        z = score([r["text"] for r in mine])
        bad = np.array([r.get("label") == "jailbreak" for r in mine])
        if bad.any():
            attacks[name] = z[bad]
            report["dev"][f"attack {name}"] = ej.share(z[bad] >= limit)
        if name in ej.HARMLESS:
            report["dev"][f"harmless {name}"] = ej.share(z[~bad] >= limit)
            harmless.append(z[~bad])
            sources += [name] * int((~bad).sum())
    at = jd.threshold_at(np.concatenate(harmless), sources, 0.01)
    report["recall_at_1_percent"] = {name: ej.share(z >= at) for name, z in attacks.items()}
    (HERE.parent / "models" / "neural" / "baseline.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report), flush=True)


if __name__ == "__main__":
    main()
