"""Scores the neural classifier, the linear tier and both together on development files, and writes models/neural/dev.json.

    python evaluate_neural.py --trunk DIR --data ../../shared/data [--parts domain,jailbreak,pii,append,templates]

Nothing is chosen here; it is the last thing that is looked at, once.
"""
import argparse
import json
import pathlib
import random
import time

import numpy as np
import torch

import data
import fit
import jailbreak_data as jd
import neural_eval as je
import neural_files
import pii_templates
import pii_test_templates
import table
import train_neural
import trunk

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "models"
DOMAIN = ["domain-mmlu-pro", "domain-mmlu", "domain-longfact"]
ATTACKS = ["jailbreak-inthewild", "composed-injections", "gptfuzz", "llmguard-tests", "multilingual-override"]
HARMLESS = ["benign-prompts", "benign-real-users", "domain-mmlu-pro", "domain-mmlu", "domain-longfact", "intent-banking77", "intent-clinc150", "tools-metatool", "factcheck-weak"]
MOST = 500    # harmless rows of a file that are read, chosen by their text
ODDS = float(np.log(0.7 / 0.3))
LENGTHS = [(0, 50), (50, 128), (128, 254), (254, 10**9)]


class Both:
    """The neural classifier and the linear models, with config.json's mixing."""

    def __init__(self, folder, model_dir, cache=None):
        self.tok = trunk.tokenizer(folder)
        model = neural_files.read(model_dir, train_neural.build(folder, {t: len(l) for t, l in neural_files.LABELS.items()}))
        self.config = json.loads((model_dir / "config.json").read_text())
        self.reader = je.Reader(model, self.tok, cache=cache)
        self.domain_linear = table.Model.load(MODELS / "domain-linear" / "model.safetensors")[0]
        self.jailbreak_linear = table.Model.load(MODELS / "jailbreak-linear" / "model.safetensors")[0]
        self.pieces = np.array([(self.tok.id_to_token(i) or "").startswith("##") for i in range(self.tok.get_vocab_size())])

    def temperature(self, task):
        return self.config["heads"][task]["temperature_alone"]

    def domain(self, texts):
        """Log probabilities by tier, and the tokens of each text."""
        answers = self.reader.read(texts)
        neural = je.log_p(np.array([a["domain"] for a in answers]), self.temperature("domain"))
        linear = je.log_p(np.array([self.domain_linear.logits(t.encode()) for t in texts]), self.domain_linear.temperature)
        f = self.config["fusion"]["domain"]
        return {"linear": linear, "neural": neural, "fused": je.log_p(f["neural"] * neural + f["linear"] * linear, f["temperature"])}, [a["tokens"] for a in answers]

    def linear_odds(self, text):
        m = self.jailbreak_linear
        return jd.highest([float(np.diff(m.logits(p.encode()))[0]) / m.temperature for p in jd.pieces(text)])

    def jailbreak(self, texts):
        """Log odds of an attack by tier, and tokens."""
        answers = self.reader.read(texts)
        neural = np.array([jd.highest(a["jailbreak"] / self.temperature("jailbreak")) for a in answers])
        linear = np.array([self.linear_odds(t) for t in texts])
        return {"linear": linear, "neural": neural, "fused": jd.fused(neural, linear, self.config["fusion"]["jailbreak"])}, [a["tokens"] for a in answers]

    def pii(self, texts):
        return [je.spans_of(a, self.pieces, self.config["thresholds"]["pii"]) for a in self.reader.read(texts, token_head=True)]


def share(flags):
    flags = np.asarray(flags, bool)
    low, high = je.interval(int(flags.sum()), len(flags)) if len(flags) else (0, 0)
    return {"rows": len(flags), "percent": round(100 * float(flags.mean()), 2) if len(flags) else None, "interval": [low, high]}


def domain_figures(both, data_root):
    out = {}
    for name in DOMAIN:
        rows = je.rows_of(data_root / name / "dev.jsonl")
        y = np.array([neural_files.LABELS["domain"].index(r["label"]) for r in rows])
        scores, tokens = both.domain([r["text"] for r in rows])
        tokens = np.array(tokens)
        out[name] = {tier: dict(share(s.argmax(1) == y), ece=round(fit.calibration_error(np.exp(s), y), 4)) for tier, s in scores.items()}
        out[name]["majority"] = round(100 * np.bincount(y).max() / len(y), 2)
        right = scores["fused"].argmax(1) == y
        out[name]["fused_by_label"] = {l: share(right[y == i]) for i, l in enumerate(neural_files.LABELS["domain"]) if (y == i).any()}
        out[name]["fused_by_tokens"] = {f"{a}-{b}": share(right[(tokens >= a) & (tokens < b)]) for a, b in LENGTHS if ((tokens >= a) & (tokens < b)).any()}
        sure = np.exp(scores["linear"].max(1))
        out[name]["cascade"] = {str(c): {"answered_by_linear": round(float((sure >= c).mean()), 3),
                                         "accuracy": round(100 * float(np.where(sure >= c, scores["linear"].argmax(1) == y, right).mean()), 2)} for c in (0.8, 0.9, 0.95)}
        print(name, json.dumps({t: out[name][t] for t in ("linear", "neural", "fused")}), flush=True)
    return out


def jailbreak_rows(path):
    rows = je.rows_of(path)
    harmless = sorted((r for r in rows if r.get("label") != "jailbreak"), key=lambda r: data.chance(r["text"], "scored"))
    return [r for r in rows if r.get("label") == "jailbreak"] + harmless[:MOST]


def jailbreak_figures(both, data_root):
    out = {"attack": {}, "harmless": {}, "by_kind": {}, "by_language": {}, "by_tokens": {}}
    kept = []
    for name in dict.fromkeys(ATTACKS + HARMLESS):
        rows = jailbreak_rows(data_root / name / "dev.jsonl")
        scores, tokens = both.jailbreak([r["text"] for r in rows])
        for part, wanted in (("attack", lambda r: r.get("label") == "jailbreak"), ("harmless", lambda r: r.get("label") not in ("jailbreak", "harmful_request"))):
            mine = np.array([wanted(r) for r in rows])
            if mine.any():
                out[part][name] = {tier: share(s[mine] >= ODDS) for tier, s in scores.items()}
                print(part, name, json.dumps({t: v["percent"] for t, v in out[part][name].items()}), int(mine.sum()), flush=True)
        kept += [(r, s, n) for r, s, n in zip(rows, scores["fused"], tokens) if r.get("label") == "jailbreak"]
    for key, of in (("by_kind", lambda r, n: r.get("kind", "")), ("by_language", lambda r, n: r.get("lang", "en")),
                    ("by_tokens", lambda r, n: next(f"{a}-{b}" for a, b in LENGTHS if a <= n < b))):
        for value in sorted({of(r, n) for r, _, n in kept}):
            out[key][value] = share([s >= ODDS for r, s, n in kept if of(r, n) == value])
    for tier in ("linear", "neural", "fused"):
        out[f"mean_harmless_{tier}"] = round(float(np.mean([v[tier]["percent"] for k, v in out["harmless"].items() if k in HARMLESS])), 3)
    return out


def pii_figures(both, data_root):
    out = {}
    for name, kinds in (("pii-presidio", None), ("pii-ner-tweets", {"PERSON", "GPE", "ORGANIZATION"})):
        rows = je.rows_of(data_root / name / "dev.jsonl")
        gold = [[(s["start"], s["end"], s["label"]) for s in r["spans"] if s["label"] in pii_templates.TYPES] for r in rows]
        scores = je.span_scores(gold, both.pii([r["text"] for r in rows]), kinds)
        out[name] = {"f1": round(je.micro(scores), 4), "types": {k: {"spans": v[0], "f1": round(je.f1(v), 3)} for k, v in scores.items()}}
        print(name, json.dumps(out[name]), flush=True)
    return out


def template_figures(both, per_type=60):
    rng = random.Random(20)
    rows = [pii_test_templates.make(kind, rng) for kind in pii_templates.TYPES for _ in range(per_type)]
    scores = je.span_scores([r[1] for r in rows], both.pii([r[0] for r in rows]))
    out = {"f1": round(je.micro(scores), 4), "types": {k: {"spans": v[0], "f1": round(je.f1(v), 3)} for k, v in scores.items()}}
    print("templates", json.dumps(out), flush=True)
    return out


def append_figures(both, data_root):
    """Attacks that are seen, with harmless words before or after: the share that is seen no longer."""
    rng = random.Random(5)
    texts = [r["text"] for name in ATTACKS for r in je.rows_of(data_root / name / "dev.jsonl") if r["label"] == "jailbreak"]
    texts = rng.sample(texts, min(150, len(texts)))
    words = [r["text"] for r in je.rows_of(data_root / "domain-longfact" / "dev.jsonl")]
    before, _ = both.jailbreak(texts)
    longer = []
    for t in texts:
        extra = " ".join(rng.sample(words, rng.randint(3, 12)))
        longer.append(f"{t}\n{extra}" if rng.random() < 0.5 else f"{extra}\n{t}")
    after, _ = both.jailbreak(longer)
    out = {tier: share((after[tier] < ODDS)[before[tier] >= ODDS]) for tier in before}
    print("append", json.dumps(out), flush=True)
    return out


def listed_figures(both, *names):
    """Of lists of texts, one a line, what is taken for an attack."""
    texts = [line.replace("\\n", "\n") for n in names for line in (HERE / n).read_text(encoding="utf-8").split("\n") if line.strip() and not line.startswith("# ")]
    scores, _ = both.jailbreak(texts)
    out = {tier: share(s >= ODDS) for tier, s in scores.items()}
    print(*names, json.dumps(out), flush=True)
    return out


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--trunk", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args.add_argument("--model", default=MODELS / "neural", type=pathlib.Path)
    args.add_argument("--cache", type=pathlib.Path, help="folder of answers that were computed before")
    args.add_argument("--parts", default="domain,jailbreak,pii,append,templates,lookalikes,lookalikes_seen,apart")
    args.add_argument("--threads", type=int, default=2)
    args = args.parse_args()
    torch.set_num_threads(args.threads)
    both = Both(trunk.find(args.trunk), args.model, args.cache)
    path = args.model / "dev.json"
    report = json.loads(path.read_text()) if path.exists() else {}
    makers = {"domain": lambda: domain_figures(both, args.data), "jailbreak": lambda: jailbreak_figures(both, args.data), "pii": lambda: pii_figures(both, args.data),
              "append": lambda: append_figures(both, args.data), "templates": lambda: template_figures(both),
              "lookalikes": lambda: listed_figures(both, "lookalikes_3.txt"), "lookalikes_seen": lambda: listed_figures(both, "lookalikes.txt", "lookalikes_2.txt"),
              "apart": lambda: listed_figures(both, "attacks_apart.txt")}
    for part in args.parts.split(","):
        began = time.time()
        report[part] = makers[part]()
        path.write_text(json.dumps(report, indent=1) + "\n")
        print(f"{part}: {time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
