"""Training rows of the domain model: which files may be read, what one question becomes, which rows belong together.

Only train files are ever opened here; the guard is in `read_rows`, so no caller can get around it.
"""
import collections
import hashlib
import json
import pathlib
import random
import re

import numpy as np

from frames import FRAMES
import requests_made

LABELS = ["biology", "business", "chemistry", "computer science", "economics", "engineering", "health", "history",
          "law", "math", "other", "philosophy", "physics", "psychology"]
INPUTS = {
    "mmlu-pro": "domain-mmlu-pro/train.jsonl",
    "mmlu": "domain-mmlu/train.jsonl",
    "longfact": "domain-longfact/train.jsonl",
    "gaokao-zh": "domain-gaokao-zh/train.jsonl",
    "exemplars": "domain-vllmsr-kb/mmlu_kb_exemplars.jsonl",
}
MADE = "requests"    # the source, and the collection, of requests_made.py
MADE_ROWS = 5000
SOURCES = [*INPUTS, MADE]
FORBIDDEN = re.compile(r"(^|[^a-z])(dev|test|heldout|held-out|sealed|natural_requests)([^a-z]|$)", re.I)
FOLDS = 4

# source: of SOURCES; collection: what kind of text it is, a finer cut (see `collection_of`); group: what a made text
# shares with others that came from the same frame or topic, else empty
Row = collections.namedtuple("Row", "source text label options collection group", defaults=("",))
# text: bytes; row: index of the Row it came from; weight: in the loss; original: the question itself
Sample = collections.namedtuple("Sample", "text row weight original")


def collection_of(source, record):
    """exams, workbooks (the questions that MMLU-Pro took from elsewhere than MMLU), chat or chinese."""
    if source == "mmlu-pro" and not record["src"].startswith("ori_mmlu"):
        return "workbooks"
    return {"longfact": "chat", "gaokao-zh": "chinese"}.get(source, "exams")


def read_rows(path, source):
    """Rows of one train file. Refuses any path that names a dev, test or held-out file."""
    path = pathlib.Path(path)
    for part in path.parts[-2:]:
        if FORBIDDEN.search(part):
            raise SystemExit(f"{path}: not a train file; this program trains on train files only")
    rows = []
    for line in path.open(encoding="utf-8"):  # not splitlines(): texts hold U+2028
        record = json.loads(line)
        rows.append(Row(source, record["text"], LABELS.index(record["label"]), record.get("options") or [],
                        collection_of(source, record)))
    return rows


def load(root):
    """All rows, and (name, rows, sha256) of every file for the card."""
    rows, inputs = [], []
    for source, name in INPUTS.items():
        path = pathlib.Path(root) / name
        got = read_rows(path, source)
        inputs.append((name, len(got), hashlib.sha256(path.read_bytes()).hexdigest()))
        rows += got
    rows += made(random.Random("made requests"), MADE_ROWS)
    for name in requests_made.FILES:
        content = (requests_made.HERE / name).read_bytes()
        inputs.append((f"training/{name}", content.count(b"\n"), hashlib.sha256(content).hexdigest()))
    return rows, inputs


def made(rng, n):
    """`n` rows of made requests."""
    return [Row(MADE, r.text, LABELS.index(r.label), [], MADE, r.group) for r in requests_made.drawn(rng, n)]


def chance(text, purpose):
    """A number in 0..1 that depends on nothing but the text."""
    digest = hashlib.sha256(f"{purpose}\0{text}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def key(row):
    """What decides where a row goes when rows are parted: its group, where it has one, so that parts agree on frames."""
    return row.group or row.text


def frame(text, number):
    """The question in one of FRAMES, chosen by its text."""
    chosen = FRAMES[int(chance(text, f"frame {number}") * len(FRAMES))]
    return chosen.replace("{}", text)


def samples(rows, source_weight, options_weight, framed_share, framed_weight):
    """The questions (weighted by source), their answer options as short texts of their own, and some questions in chat frames."""
    out = []
    for i, row in enumerate(rows):
        own = source_weight.get(row.source, 1.0)
        out.append(Sample(row.text.encode(), i, own, True))
        if row.options and options_weight:
            out.append(Sample(" . ".join(row.options).encode(), i, options_weight, False))
        if framed_share and chance(row.text, "framed?") < framed_share:
            out.append(Sample(frame(row.text, 1).encode(), i, own * framed_weight, False))
    return out


def clusters(rows):
    """One id per row; rows that share half of the shorter one's word 5-grams have the same id, made rows those of their group.

    MMLU and MMLU-Pro share many questions: folds that cut through a pair would flatter every figure.
    """
    parent = list(range(len(rows)))

    def find(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    grams, where, first = [], collections.defaultdict(list), {}
    for i, row in enumerate(rows):
        group = getattr(row, "group", "") if getattr(row, "source", "") == MADE else ""
        if group:
            parent[i] = first.setdefault(group, i)
            grams.append(set())
            continue
        words = re.findall(r"\w+", row.text.lower())
        mine = {" ".join(words[k:k + 5]) for k in range(len(words) - 4)} or {" ".join(words)}
        grams.append(mine)
        for gram in mine:
            where[gram].append(i)
    for i, mine in enumerate(grams):
        shared = collections.Counter(j for gram in mine if len(where[gram]) < 200 for j in where[gram] if j < i)
        for j, n in shared.items():
            if 2 * n >= min(len(mine), len(grams[j])):
                a, b = find(i), find(j)
                parent[max(a, b)] = min(a, b)  # the least index stands for a cluster, whatever the order of sets
    return np.array([find(i) for i in range(len(rows))])


def folds(rows):
    """Fold number of each row, by cluster."""
    ids = clusters(rows)
    return np.array([int(chance(key(rows[i]), "fold") * FOLDS) for i in ids])
