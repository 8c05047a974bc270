"""The neural's PII examples: presidio's rows with their values exchanged, a sample of the tweets (persons, places and
organisations only) and newly made texts; a label for every token. Rows kept out of training lend no value either."""
import json
import pathlib
import re
import hashlib

import numpy as np

import data
import pii_templates
from pii_values import DAYS, NARROW, TITLES
from streams import Example
import trunk

HELD = 0.08          # of presidio's templates and of the tweets: kept out of training, for calibration
MOST = 160           # tokens of a text
TWEETS, MADE = 2000, 6400   # of an epoch
AMONG, ROOM = 0.35, 252      # share of texts that stand in the middle of a document, and the tokens of both
SWAPPED = 0.6        # of presidio's rows: their values exchanged
JOINED = 0.15        # of presidio's rows: a made text follows
BORROWED = 0.35      # of exchanged values: from another row, the others newly made
KNOWN = {t: i for i, t in enumerate(pii_templates.TYPES)}
INPUTS = {"presidio": "pii-presidio/train.jsonl", "tweets": "pii-ner-tweets/train.jsonl"}
# What tweets have and their annotators did not label: links, addressees, tags, numbers.
UNNEURALD = re.compile(r"https?\S*|www\.\S*|\S*@\S*|#\S*|\S*\d\S*")
# What one half of presidio's rows has and leaves unlabelled, while the other half labels it.
MISSED_AGE = re.compile(r"\b\d{1,3}(?= years? old)")
FORMS = {t.lower() for t in TITLES}


def kind_of(value, kind):
    """Some rows call a form of address alone a person."""
    return "TITLE" if kind == "PERSON" and value.lower() in FORMS else kind


def shape(value, kind):
    """The maker whose values fit where `value` stands; values of one shape may replace each other. None: it stays."""
    if kind == "PERSON":
        return "FULL" if " " in value else "FIRST"
    if kind == "TITLE":
        return "TITLE" if value.lower() in FORMS else "JOB"
    if kind == "DATE_TIME":
        return "DAY" if value.capitalize() in DAYS else "YEAR" if re.fullmatch(r"\d{4}", value) else "STAMP" if ":" in value else "DATE"
    if kind == "STREET_ADDRESS":
        return None if value.isdigit() else "ROAD" if not re.search(r"\d", value) else "STREET" if len(value) < 28 else kind
    if kind == "NRP":
        return "NRPS" if value.endswith("s") else kind
    return kind


def pools(rows):
    """shape -> values in `rows`."""
    out = {}
    for _, text, spans, _ in rows:
        for a, b, kind in spans:
            out.setdefault(shape(text[a:b], kind), []).append(text[a:b])
    return out


def swap(text, spans, pool, rng):
    """The same sentence with other values, as (text, spans)."""
    out, moved, at = "", [], 0
    for a, b, kind in sorted(spans):
        old = text[a:b]
        form = shape(old, kind)
        if form is None or rng.random() < .1:
            value = old
        elif rng.random() < BORROWED:
            value = rng.choice(pool[form])
        else:
            value = NARROW[form][1](rng) if form in NARROW else pii_templates.MAKERS[form](rng)
        if text.islower() and len(value.lower()) == len(value):
            value = value.lower()
        out += text[at:a]
        moved.append((len(out), len(out) + len(value), kind))
        out, at = out + value, b
    return out + text[at:], moved


def vary(row, pool, rng):
    """A row of presidio's as an epoch shows it."""
    source, text, spans, template = row
    if rng.random() < SWAPPED:
        text, spans = swap(text, spans, pool, rng)
    if rng.random() < JOINED:
        pair = [(text, spans), pii_templates.make(rng)]
        rng.shuffle(pair)
        text, spans = pii_templates.join(*pair, rng.choice([" ", "\n", "\n\n"]))
    return source, pii_templates.disturb(text, spans, rng), spans, template


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
            spans = [(s["start"], s["end"], kind_of(r["text"][s["start"]:s["end"]], s["label"])) for s in r["spans"] if s["label"] in KNOWN]
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


def among(ids, target, passages, rng):
    """The text with pieces of a passage before and after it; what the passage says of persons and places is not judged, or,
    half of the time, held to be nothing."""
    passage = rng.choice(passages)
    room = max(ROOM - len(ids), 0)
    n = rng.randint(0, min(room, len(passage)))
    at, cut = rng.randint(0, len(passage) - n), rng.choice([0, n, rng.randint(0, n)])
    piece, blank = passage[at:at + n], rng.choice([-100, 0])
    return np.concatenate([piece[:cut], ids, piece[cut:]]), np.concatenate([np.full(cut, blank), target, np.full(n - cut, blank)])


def epoch(rows, held, tok, documents):
    """A function for streams.Stream. `documents`: long harmless texts."""
    passages = [ids for ids, _ in trunk.encode(tok, documents) if len(ids) > ROOM]
    presidio = [r for r, out in zip(rows, held) if not out and r[0] == "presidio"]
    tweets = [r for r, out in zip(rows, held) if not out and r[0] == "tweets"]
    named = [r for r in tweets if r[2]]
    pool = pools(presidio)

    def examples(rng):
        picked = [vary(r, pool, rng) for r in presidio] + rng.sample(named, TWEETS * 3 // 4) + rng.sample(tweets, TWEETS // 4)
        picked += [("made", *pii_templates.make(rng), "") for _ in range(MADE)]
        out = []
        for (ids, offsets), (source, text, spans, _) in zip(trunk.encode(tok, [r[1] for r in picked]), picked):
            doubtful = {"tweets": UNNEURALD, "presidio": MISSED_AGE}.get(source)
            unjudged = [m.span() for m in doubtful.finditer(text)] if doubtful else ()
            target = label(offsets, spans, unjudged)[:MOST]
            ids = ids[:MOST]
            if source != "tweets" and rng.random() < AMONG:
                ids, target = among(ids, target, passages, rng)
            out.append(Example(trunk.wrap(ids), np.concatenate([[-100], target, [-100]]), 1.0))
        return out

    return examples
