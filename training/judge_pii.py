"""The judge's PII examples: presidio's rows, a sample of the tweets (persons, places and organisations only) and newly made
texts; a label for every token."""
import json
import pathlib
import re
import hashlib

import numpy as np

import data
import pii_templates
from streams import Example
import trunk

HELD = 0.08          # of presidio's templates and of the tweets: kept out of training, for calibration
MOST = 120           # tokens of a text
TWEETS, MADE = 2200, 2600   # of an epoch
KNOWN = {t: i for i, t in enumerate(pii_templates.TYPES)}
INPUTS = {"presidio": "pii-presidio/train.jsonl", "tweets": "pii-ner-tweets/train.jsonl"}
# What tweets have and their annotators did not label: links, addressees, tags, numbers.
UNJUDGED = re.compile(r"https?\S*|www\.\S*|\S*@\S*|#\S*|\S*\d\S*")


def load(root):
    """(rows of (source, text, spans, template), inputs, held)"""
    rows, inputs = [], []
    for source, name in INPUTS.items():
        path = pathlib.Path(root) / name
        for part in path.parts[-2:]:
            if data.FORBIDDEN.search(part):
                raise SystemExit(f"{path}: not a train file; this program trains on train files only")
        got = [json.loads(line) for line in path.open(encoding="utf-8")]
        inputs.append((name, len(got), hashlib.sha256(path.read_bytes()).hexdigest()))
        for r in got:
            spans = [(s["start"], s["end"], s["label"]) for s in r["spans"] if s["label"] in KNOWN]
            rows.append((source, r["text"], spans, r.get("template") or r["text"]))
    return rows, inputs, [data.chance(r[3], "judge held") < HELD for r in rows]


def label(offsets, spans, unjudged=()):
    """Labels of the tokens at `offsets`: 0 or 1 + 2 * type (+ 1 inside); -100 in the ranges `unjudged`."""
    out = np.zeros(len(offsets), np.int64)
    for a, b in unjudged:
        out[(offsets[:, 0] < b) & (offsets[:, 1] > a)] = -100
    for a, b, kind in spans:
        inside = np.nonzero((offsets[:, 0] < b) & (offsets[:, 1] > a))[0]
        out[inside] = 2 + 2 * KNOWN[kind]
        out[inside[:1]] = 1 + 2 * KNOWN[kind]
    return out


def epoch(rows, held, tok):
    """A function for streams.Stream."""
    presidio = [r for r, out in zip(rows, held) if not out and r[0] == "presidio"]
    tweets = [r for r, out in zip(rows, held) if not out and r[0] == "tweets"]
    named = [r for r in tweets if r[2]]

    def examples(rng):
        picked = presidio + rng.sample(named, TWEETS * 3 // 4) + rng.sample(tweets, TWEETS // 4)
        picked += [("made", *pii_templates.make(rng), "") for _ in range(MADE)]
        out = []
        for (ids, offsets), (source, text, spans, _) in zip(trunk.encode(tok, [r[1] for r in picked]), picked):
            unjudged = [m.span() for m in UNJUDGED.finditer(text)] if source == "tweets" else ()
            target = label(offsets, spans, unjudged)[:MOST]
            out.append(Example(trunk.wrap(ids[:MOST]), np.concatenate([[-100], target, [-100]]), 1.0))
        return out

    return examples
