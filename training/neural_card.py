"""Renders models/neural/card.md and models/jailbreak-linear/card.md from their train.json and dev.json; the prose is here, the
figures are theirs.

    python neural_card.py
"""
import hashlib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
sys.path.insert(0, str(ROOT / "tools"))
from lint_prose import wrap  # noqa: E402


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"] + ["| " + " | ".join(str(c) for c in r) + " |" for r in rows])


def cell(s):
    return "-" if not s or s["percent"] is None else f"{s['percent']} % ({s['interval'][0]}-{s['interval'][1]})"


def inputs(report):
    return table(["file", "rows", "sha256"], [[i["file"], i["rows"], i["sha256"]] for i in report["inputs"]])


# As given to this project from a scikit-learn run on the same rows; not measured again here.
GIVEN = {"domain-mmlu-pro": ["82.2", "78.5", "84.1", "86"], "domain-mmlu": ["80.8", "76.8", "83.0", "84"], "domain-longfact": ["83.1", "-", "-", "-"]}


def domain(dev):
    d = dev["domain"]
    rows = [[n, v["fused"]["rows"], f"{v['majority']} %", GIVEN[n][0], GIVEN[n][1], cell(v["linear"]), cell(v["neural"]), cell(v["fused"]), GIVEN[n][3], f"{v['linear']['ece']} / {v['neural']['ece']} / {v['fused']['ece']}"]
            for n, v in d.items()]
    text = table(["file", "rows", "majority label", "TF-IDF SVM (given)", "hidden layer on the frozen trunk (given)", "linear tier", "neural classifier alone", "both", "bar", "ECE linear / alone / both"], rows)
    labels = sorted({l for v in d.values() for l in v["fused_by_label"]})
    text += "\n\nBoth, by label:\n\n" + table(["label"] + list(d), [[l] + [cell(v["fused_by_label"].get(l)) for v in d.values()] for l in labels])
    lengths = sorted({l for v in d.values() for l in v["fused_by_tokens"]}, key=lambda s: int(s.split("-")[0]))
    text += "\n\nBoth, by tokens:\n\n" + table(["tokens"] + list(d), [[l] + [cell(v["fused_by_tokens"].get(l)) for v in d.values()] for l in lengths])
    text += "\n\nCascade (the linear tier answers where its confidence is at least c, both otherwise): share that it answers, accuracy\n\n"
    text += table(["c"] + list(d), [[c] + [f"{v['cascade'][c]['answered_by_linear']}, {v['cascade'][c]['accuracy']} %" for v in d.values()] for c in ("0.8", "0.9", "0.95")])
    return text


def loaded(name):
    path = MODELS / "neural" / name
    return json.loads(path.read_text()) if path.exists() else {}


def families(left):
    """Rates by family of left-out sources; `left`: left_out_groups.table by column."""
    first = next(iter(left.values()))
    rows = [["**attacks, mean of families**", ""] + [f"**{100 * t['mean_recall']:.1f} %**" for t in left.values()],
            ["**harmless, mean of families**", ""] + [f"{100 * t['mean_false_alarms']:.1f} %" for t in left.values()],
            ["harmless, worst family", ""] + [f"{100 * t['worst_harmless']:.1f} %" for t in left.values()]]
    rows += [[k, v[0]] + [f"{100 * t['families'][k][1]:.1f} %" for t in left.values()] for k, v in sorted(first["families"].items())]
    return table(["family", "texts", *left], rows)


def guard(report):
    """Both tiers on families that neither was trained on."""
    left = {name: t["new"] for name, t in report["guard"]["left_out"].items()}
    return f"""At the threshold where the harmless families raise a false alarm in 3 % of their texts, as the mean over families, which is 0.7. Every family
weighs alike. The neural classifier was trained before these sources were there; the linear tier is trained anew without a group of sources and asked about it.

{families(left)}

At the same rate on the same texts the model before, whose linear tier knew none of these sources, found 62.9 % (linear tier 40.7 %, neural classifier
alone 64.8 %). At its 0.7 it found 73.9 %, with 7.2 % false alarms.
"""


def left_out():
    """Tables of sources that were left out of training."""
    text, shallow, anew = "", loaded("left_out.json"), loaded("left_out_neural.json")
    if shallow:
        text += "\n## Sources left out\n\nDomain: a head on the frozen trunk, a TF-IDF SVM and their sum, trained on all other collections.\n\n"
        text += table(["left out", "rows", "majority", "frozen trunk", "SVM", "sum"], [[n, v["rows"], f"{v['majority']} %", f"{v['frozen trunk']} %", f"{v['SVM']} %", f"{v['sum']} %"] for n, v in shallow.items()]) + "\n"
    if anew:
        text += "\nThe neural classifier's own task trained anew from the bare trunk without a source, on a small part of the tokens (leave_out_neural.py), and asked about that source:\n\n"
        rows = [[name, f"{v['tokens']:,}", part, n[0], f"{100 * n[1]:.1f} %"] for name, v in anew.items() for part, n in v.items() if isinstance(n, list)]
        text += table(["left out", "tokens of training", "part", "rows", "right label (domain), at the threshold or more (attacks)"], rows) + "\n"
    return text


def personal(dev):
    p, t = dev["pii"], dev.get("templates", {"types": {}, "f1": None})
    kinds = sorted({k for v in p.values() for k in v["types"]} | set(t["types"]))

    def one(v, k):
        return f"{v['types'][k]['f1']} ({v['types'][k]['spans']})" if k in v["types"] else "-"

    text = table(["type", "presidio dev", "tweets dev", "templates written apart"], [["**all**", p["pii-presidio"]["f1"], p["pii-ner-tweets"]["f1"], t["f1"]]] +
                 [[k, one(p["pii-presidio"], k), one(p["pii-ner-tweets"], k), one(t, k)] for k in kinds])
    return "F1 of spans, a partial overlap of the same type counting, number of spans in brackets; the token head alone, without recognisers of e-mail\naddresses, cards, IBANs and the like:\n\n" + text


def neural():
    out = MODELS / "neural"
    dev, report = json.loads((out / "dev.json").read_text()), json.loads((out / "train.json").read_text())
    weights = out / "adapters.safetensors"
    run = report["run"]
    held = report.get("held_out", {})
    notes = pathlib.Path(__file__).resolve().parent / "neural_notes.md"
    return f"""# neural

Adapters and three heads on all-MiniLM-L6-v2: domain, jailbreak and personal data of a text in one pass over each window. Format: README.md here.

| | |
| --- | --- |
| weights | adapters.safetensors, {weights.stat().st_size:,} bytes, sha256 {hashlib.sha256(weights.read_bytes()).hexdigest()} |
| trunk | all-MiniLM-L6-v2, sha256 {report['trunk']} |
| made by | `training/train_all.sh`; choices in train.json |
| training | {run['done']:,} tokens, {run['seconds'] / 60:.0f} minutes on one core |

{notes.read_text() if notes.exists() else ''}
## Attacks: sources that were left out

{guard(report)}
Figures on development files: docs/quality/jailbreak.md.

## Domain

{domain(dev)}

## Personal data

{personal(dev)}
{left_out()}
## Held-out rows of the train files

Near-duplicates of these rows are held out with them. Temperatures, mixing and thresholds were fitted on them, so these figures flatter a little:

```json
{json.dumps(held, indent=1)}
```

## Inputs

All are train files; the program refuses files with dev, test or held-out in their names. Plain harmful requests are read as cores of made attacks and are neither class.

{inputs(report)}
"""


def linear():
    out = MODELS / "jailbreak-linear"
    report = json.loads((out / "train.json").read_text())
    f, path = report["figures"], out / "model.safetensors"
    flagged = f.get("harmful_requests_flagged")
    plain = f"\nOf {flagged[0]} plain harmful requests, which are neither class, {100 * flagged[1]:.1f} % are at 0.7 or more.\n" if flagged else ""
    return f"""# jailbreak-linear

The embedded default of the `jailbreak` signal: the probability that a text is an attack on a model's instructions, by a linear classifier over n-grams, in
microseconds. Format semroute-linear-1 (see ../domain-linear/card.md), labels benign and jailbreak.

| | |
| --- | --- |
| file | model.safetensors, {path.stat().st_size:,} bytes, sha256 {hashlib.sha256(path.read_bytes()).hexdigest()} |
| made by | `training/left_out_groups.py`, `training/calibrate_guard.py`; choices in train.json |
| calibration | temperature {f['temperature']:.3f}; 0.7 is where left-out harmless families raise a false alarm in 3 % of their texts, as the mean over families |

A text's score is that of its highest window of 1,536 characters (src/signal/guard/risk.h). An attack is a wrapper, not a topic: what is asked inside may be harmless.
{plain}
## Sources left out

Five models, each trained without one group of sources and asked about it: what to expect on unseen text. Every family weighs alike. (All n-grams, before
the table is chosen. The calibration is brought to the scale of the table by texts that neither has seen.)

{families({"at 0.7": f["left_out"]})}

## Inputs

All are train files; the program refuses files with dev, test or held-out in their names.

{inputs(report)}

## Limits

- Words, not meaning: an attack in words that no source has is missed, and a harmless text about attacks may be flagged. The neural classifier (../neural) reads meaning; the shipped answer is the fusion of both.
- Licences: GPL-3, LGPL-2.1 and pieces of others are taken for attacks by this tier; beside the neural classifier, whose
  head knows licences, few are.
- bipia: what is hidden in its mails are harmless orders ("write a poem"), distinguished from the mails' own text by their position only.
- The wording in languages other than English was not checked by native speakers.
"""


def main():
    if (MODELS / "neural" / "dev.json").exists():
        (MODELS / "neural" / "card.md").write_text(wrap(neural()))
    (MODELS / "jailbreak-linear" / "card.md").write_text(wrap(linear()))


if __name__ == "__main__":
    main()
