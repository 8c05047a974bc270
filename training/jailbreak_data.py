"""Rows of the jailbreak models: which train files, what counts as an attack, which rows belong together, what is made.

An attack is a wrapper, not a topic: plain harmful requests are neither attack nor harmless here. They serve as the cores
of made attacks and their share of alarms is reported, but no model learns them as either class.
"""
import collections
import hashlib
import json
import pathlib
import random
import re

import numpy as np

import attacks
import data
import requests_made
import written

LABELS = ["benign", "jailbreak"]
# source: folder; weight: in the loss; made: by attacks.py
Row = collections.namedtuple("Row", "source text label kind lang weight group")
MOST = 6000     # characters of a text that are read

ATTACK_FILES = {"jailbreak-inthewild": ("train.jsonl", 4.0), "jailbreak-short": ("train.jsonl", 5.0), "adaptive-attacks": ("train.jsonl", 5.0),
                "gptfuzz": ("train.jsonl", 4.0), "llmguard-tests": ("train.jsonl", 5.0), "composed-injections": ("train.jsonl", 0.8),
                "multilingual-override": ("train.jsonl", 1.5), "jailbreak-bipia": ("contexts_train.jsonl", 0.6),
                "injection-hackaprompt": ("train.jsonl", 0.8), "injection-yanismiraoui": ("train.jsonl", 0.8), "injection-handwritten": ("train.jsonl", 4.0),
                "injection-tool-output": ("train.jsonl", 1.0), "injection-piarena": ("train.jsonl", 1.0), "jailbreak-evalsafety": ("train.jsonl", 2.0),
                "jailbreak-inthewild-2023-12": ("train.jsonl", 3.0), "jailbreak-jailjudge": ("train.jsonl", 4.0),
                "jailbreak-nested-fiction": ("train.jsonl", 5.0), "jailbreak-pyrit": ("train.jsonl", 2.5)}
LEFT_KINDS = {"tool_output_base"}   # bare requests in a field of data, without a word to an assistant
CUE = re.compile(r"I have been PWNED[!1.]*|PWNED", re.I)   # what the contestants of hackaprompt had to make a model say
# harmless: (file, rows at most, weight)
HARMLESS_FILES = {"benign-prompts": ("train.jsonl", 9999, 6.0), "benign-real-users": ("train.jsonl", 9999, 6.0), "domain-mmlu-pro": ("train.jsonl", 3500, 1.0),
                  "domain-mmlu": ("train.jsonl", 2000, 1.0), "domain-longfact": ("train.jsonl", 2000, 1.0), "domain-gaokao-zh": ("train.jsonl", 800, 1.0),
                  "intent-banking77": ("train.jsonl", 2500, 1.0), "intent-clinc150": ("train.jsonl", 4000, 1.0), "tools-metatool": ("train.jsonl", 4000, 1.0),
                  "factcheck-weak": ("train.jsonl", 4500, 1.0), "feedback-weak-nlupp": ("train.jsonl", 1000, 1.0), "routing-gsm8k": ("train.jsonl", 500, 1.0),
                  "pii-presidio": ("train.jsonl", 700, 1.0), "pii-ner-tweets": ("train.jsonl", 2000, 1.0),
                  "benign-coconot": ("train.jsonl", 9999, 1.5), "benign-followbench": ("train.jsonl", 9999, 3.0), "benign-gpteacher": ("train.jsonl", 2500, 1.0),
                  "benign-llmwarden": ("train.jsonl", 9999, 1.5), "benign-lobe-agents": ("train.jsonl", 5000, 0.8), "benign-multilingual": ("train.jsonl", 9999, 1.2),
                  "benign-prompts-zh": ("train.jsonl", 9999, 4.0), "benign-security-docs": ("train.jsonl", 9999, 1.5),
                  "benign-long-joined": ("train.jsonl", 9999, 2.5), "benign-t0-tasks": ("train.jsonl", 9999, 1.2)}
SYSTEM_PROMPTS = 2.0    # times the weight: kind agent_system_prompt, the operators' own texts
CHATS = {"chat-rag-bills": "requests.jsonl", "chat-rag-opensourceguide": "requests.jsonl", "chat-agent-taubench": "airline_trajectories.jsonl"}
REQUESTS = 3000    # made requests, harmless
MADE = {"attacks": 9000, "lookalikes": 12000, "planted": 3000, "carriers": 4000, "surrounded": 5000, "mixed": 6000}
WRITTEN = {"attacks": (3, 1.0), "lookalikes": (3, 1.5)}    # draws of a record, and their weight
HELD, FOLDS = 0.10, 5   # share of the groups that the neural's training keeps out, for calibration; folds of the linear model
ROOM = 225      # tokens of a made window, by estimate


def _read(root, folder, name, inputs):
    path = pathlib.Path(root) / folder / name
    for part in path.parts[-2:]:
        if data.FORBIDDEN.search(part):
            raise SystemExit(f"{path}: not a train file; this program trains on train files only")
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    inputs.append((f"{folder}/{name}", len(rows), hashlib.sha256(path.read_bytes()).hexdigest()))
    return rows


def _sample(rows, most, key):
    return sorted(rows, key=lambda r: data.chance(key(r), "sample"))[:most]


def without_cue(text):
    """The text with what it makes a model say replaced in two of three texts, so that this is no sign of an attack."""
    said = ("Done", "OK", "yes", "The weather is fine today", "hello world", "42", "I like bananas", "Access granted", "true", "Thank you")
    chance = data.chance(text, "cue")
    return CUE.sub(said[int(chance * 1e6) % len(said)], text) if chance < 2 / 3 else text


def messages(request):
    """Texts of a chat request, one per message or content part."""
    for m in request["messages"]:
        content = m.get("content")
        parts = [content] if isinstance(content, str) else [p.get("text") for p in content or []]
        yield from (p for p in parts if p)


def load(root, made=MADE, seed=11, further=()):
    """(rows, harmful, inputs); `further`: folders of written texts besides those of texts/, written.LINEAR for the linear tier."""
    inputs, rows, harmful = [], [], []
    for folder, (name, weight) in ATTACK_FILES.items():
        for r in _read(root, folder, name, inputs):
            if r["label"] == "harmful_request":
                harmful.append(r["text"])
                continue
            if r.get("kind") in LEFT_KINDS:
                continue
            label = 0 if r["label"] == "benign" else 1
            own = 3.0 if folder == "jailbreak-bipia" and not label else weight  # 50 mails, each there three times with an attack in it
            text = without_cue(r["text"]) if folder == "injection-hackaprompt" else r["text"]
            rows.append(Row(folder, text[:MOST], label, r.get("kind", "") or r.get("category", ""), r.get("lang", "en"), own, None))
    harmful += [r["text"] for r in _read(root, "jailbreak-short", "harmful_requests.jsonl", inputs)]
    for folder, (name, most, weight) in HARMLESS_FILES.items():
        for r in _sample(_read(root, folder, name, inputs), most, lambda r: r["text"]):
            own = weight * (SYSTEM_PROMPTS if r.get("kind") == "agent_system_prompt" else 1.0)
            rows.append(Row(folder, r["text"][:MOST], 0, "", r.get("lang", "en"), own, None))
    for folder, name in CHATS.items():
        texts = {t for r in _read(root, folder, name, inputs) for t in messages(r["request"])}
        for t in _sample(sorted(texts), 1500, lambda t: t):
            rows.append(Row(folder, t[:MOST], 0, "message", "", 2.5, None))
    documents = _read(root, "longdocs-opensourceguide", "docs.jsonl", inputs)
    for d in documents:
        for k in range(3):
            at = int(data.chance(d["id"], f"piece {k}") * max(1, len(d["text"]) - 2500))
            rows.append(Row("longdocs", d["text"][at:at + 2500], 0, "document", d["lang"], 3.5, None))
    for r in _sample(_read(root, "similarity-korean-qpairs", "train.jsonl", inputs), 500, lambda r: r["text1"]):
        rows.append(Row("korean-questions", r["text1"], 0, "", "ko", 1.0, None))
    rows = [r._replace(group=g) for r, g in zip(rows, clusters(rows))]
    rows += [Row("requests", r.text, 0, "", "", 1.0, f"request {r.group}") for r in requests_made.drawn(random.Random("harmless requests"), REQUESTS)]
    rows += written_rows(random.Random("written"), further)
    inputs += written.inputs() + [i for folder in further for i in written.inputs(sorted(folder.glob("*.txt")))]
    rows += make(rows, harmful, documents, made, seed)
    return rows, harmful, inputs


def written_rows(rng, further=()):
    """The texts of texts/ and of the folders `further`, drawn anew with each `rng`."""
    out = []
    for record in [r for folder in (written.FOLDER, *further) for r in written.read(folder)]:
        source = "attacks" if record.attack else "lookalikes"
        draws, weight = WRITTEN[source]
        for text in dict.fromkeys(written.draw(rng, record) for _ in range(draws)):
            out.append(Row(f"written-{source}", text[:MOST], int(record.attack), record.kind, record.lang, weight, f"written {record.name}"))
    return out


def documents(root):
    return _read(root, "longdocs-opensourceguide", "docs.jsonl", [])


def clusters(rows):
    """Attack files by near-duplicate cluster, long documents by document, the rest by text."""
    sharp = [i for i, r in enumerate(rows) if r.source in ATTACK_FILES]
    ids = data.clusters([rows[i] for i in sharp])
    group = [f"{r.source}:{r.text[:200]}" for r in rows]
    first = next((i for i, r in enumerate(rows) if r.source == "longdocs"), 0)
    for i, r in enumerate(rows):
        if r.source == "longdocs":
            group[i] = f"longdocs {(i - first) // 3}"
    for i, g in zip(sharp, ids):
        group[i] = f"cluster {rows[sharp[g]].text[:200]}"
    return group


def make(rows, harmful, documents, made, seed):
    """Composed rows; `group` is a number, so that folds cut them at random."""
    rng = random.Random(seed)
    plain = [r.text for r in rows if r.label == 0 and 12 < len(r.text) < 220 and "\n" not in r.text
             and r.source in ("benign-real-users", "domain-longfact", "factcheck-weak", "tools-metatool", "domain-mmlu-pro", "intent-banking77")]
    sentences = [s.strip() for r in rows if r.label == 0 and r.source in ("chat-agent-taubench", "chat-rag-bills", "pii-ner-tweets", "pii-presidio",
                 "benign-real-users", "longdocs", "feedback-weak-nlupp") for s in re.split(r"(?<=[.!?])\s+", r.text) if 20 < len(s) < 250]
    rng.shuffle(sentences)
    sentences = sentences[:6000]
    passages = [d["text"] for d in documents]
    cores = harmful * 3 + rng.sample(plain, min(len(plain), 3 * len(harmful)))
    out = []
    for i in range(made["attacks"]):
        text, kind, lang = attacks.attack(rng, cores)
        out.append(Row("made-attacks", text[:MOST], 1, kind, lang, 0.5, f"made {i}"))
    real = [r for r in rows if r.label == 1 and r.source in ("jailbreak-inthewild", "jailbreak-short", "llmguard-tests", "multilingual-override", "gptfuzz")]
    for i in range(made["surrounded"]):  # attacks between harmless questions, and as many harmless texts of the same shape
        extra = rng.sample(plain, rng.randint(2, 10))
        if i % 2:
            core, source = rng.choice(plain), None
        elif rng.random() < 0.5:
            source = rng.choice(real)
            core = source.text[:900]
        else:
            core, source = attacks.attack(rng, cores)[0][:900], None
        at = rng.choice([0, len(extra), rng.randint(0, len(extra))])
        text = rng.choice([" ", "\n", "\n"]).join(extra[:at] + [core] + extra[at:])
        out.append(Row("made-surrounded", text[:MOST], 1 - i % 2, "surrounded", "en", 0.5, source.group if source else f"around {i}"))
    for i in range(made["lookalikes"]):
        text, lang = attacks.lookalike(rng, plain)
        out.append(Row("made-lookalikes", text[:MOST], 0, "lookalike", lang, 0.7, f"like {i}"))
    out += mixtures(rng, rows, cores, made["mixed"])
    for i in range(made["planted"] + made["carriers"]):
        planted = i < made["planted"]
        if rng.random() < 0.3:
            passage = rng.choice(passages)
            at = rng.randrange(max(1, len(passage) - 900))
            text = passage[at:at + rng.randint(200, 900)]
            if planted:
                core = attacks.attack(rng, cores, rng.choice(["override", "authority", "prompt_leak", "language"]))[0]
                text = attacks.plant(rng, text, core if rng.random() < 0.4 else None)
        else:
            text = attacks.carrier(rng, sentences, planted)
        out.append(Row("made-planted" if planted else "made-carriers", text[:MOST], int(planted), "indirect_injection" if planted else "carrier", "en", 0.5, f"doc {i}"))
    return out


def size(text):
    """Tokens, about."""
    wide = sum(ord(c) > 0x7f for c in text)
    return (len(text) - wide) / 4 + wide * 0.9


def window(text, rng, tokens, first=0.5):
    """As much of a text as `tokens`: its beginning with the chance `first`, else from anywhere."""
    have = size(text)
    if have <= tokens:
        return text
    n = max(int(len(text) * tokens / have), 1)
    at = 0 if rng.random() < first else rng.randrange(len(text) - n + 1)
    return text[at:at + n]


JOINTS = ["\n", "\n", "\n\n", "\n\n", " ", "\n- ", "\n* ", "\n\n---\n\n", "\n> ", " | ", "\n### ", "\n\nuser: ", "\n\nassistant: ", "\nQ: ", "\nTool: ", '", "', "\n\n\n", "</p>\n<p>", "\t"]


def mixed(rng, pools, attack=None):
    """A window of a long prompt: pieces of several harmless texts of one pool, one after the other as in a conversation, a
    list or a collection, begun and ended anywhere, and among them the attack."""
    room = ROOM * rng.choice([1.0, 1.0, 0.9, 0.75, 0.5])
    core = window(attack, rng, rng.choice([60, 110, 150]), 0.75) if attack and size(attack) > 150 else attack
    parts, left = [], room - (size(core) if core else 0)
    pool = rng.choice(pools)
    while left > 8 and len(parts) < 40:
        piece = window(rng.choice(pool), rng, min(left, rng.choice([15, 40, 90, 230])))
        parts.append(piece)
        left -= size(piece) + 2
    if core:
        parts.insert(rng.choice([0, len(parts), rng.randint(0, len(parts)), rng.randint(0, len(parts))]), core)
    joint = rng.choice(JOINTS)
    number = rng.random() < 0.15
    return joint.join(f"{i + 1}. {p}" if number else p for i, p in enumerate(parts))


def held(row):
    """Is the row kept out of the neural's training?"""
    return data.chance(row.group, "judge held") < HELD


def fold_of(group):
    return int(data.chance(group, "jailbreak fold") * FOLDS)


def named_in(fold, name):
    """A group of that fold."""
    return next(g for g in (f"{name} {k}" for k in range(1000)) if fold_of(g) == fold)


def mixtures(rng, rows, cores, n):
    """Windows of long prompts, every other one harmless. Each is made of texts of one fold, and is of that fold; texts that are
    held out are in none."""
    out, rows = [], [r for r in rows if not held(r)]
    for fold in range(FOLDS if n else 0):
        by_source = {}
        mine = [r for r in rows if fold_of(r.group) == fold and r.source not in ("multilingual-override", "composed-injections", "jailbreak-bipia")]
        for r in mine:
            if not r.label:
                by_source.setdefault(r.source, []).append(r.text)
        whole = [t for texts in by_source.values() for t in texts]
        pools = [*by_source.values(), *([by_source[s] for s in ("benign-real-users", "benign-prompts", "written-lookalikes") if s in by_source] + [whole]) * 5]
        own = [r.text for r in mine if r.label and not r.source.startswith("made")]
        for i in range(n // FOLDS):
            core = None if i % 2 else rng.choice(own) if rng.random() < 0.6 else attacks.attack(rng, cores)[0]
            out.append(Row("made-mixed", mixed(rng, pools, core)[:MOST], int(core is not None), "mixed", "en", 0.5, named_in(fold, f"mixed {fold} {i}")))
    return out


PIECE, STEP = 1536, 1024   # characters of a window of the linear tier, and from one to the next


def places(text):
    """(start, end) of the windows of a text in characters; of a long one they are cut at white space."""
    if len(text) <= PIECE:
        return [(0, len(text))]
    out, at = [], 0
    while True:
        end = at + PIECE
        cut = text.rfind(" ", at + PIECE // 2, end) if end < len(text) else len(text)
        out.append((at, cut if cut > 0 else min(end, len(text))))
        if end >= len(text):
            return out
        step = text.find(" ", at + STEP)
        at = step + 1 if 0 < step < end else at + STEP


def pieces(text):
    """The windows of a text."""
    return [text[a:b] for a, b in places(text)]


def highest(scores):
    """A text's score from those of its windows, as in src/signal/guard/risk.c: that of the highest. A mean would let harmless text hide
    an attack."""
    return float(np.max(scores))


def fused(neural, linear, fusion):
    """Log odds of both tiers together, as in src/infer/classifier/fusion.c. Of a text with several windows risk.c takes the highest of
    those that overlap, which is never above that of both tiers' highest windows."""
    limit = fusion.get("linear_limit") or np.inf
    return (fusion["neural"] * neural + fusion["linear"] * np.clip(linear, -limit, limit) + fusion["shift"]) / fusion["temperature"]


def threshold_at(scores, sources, rate, skip=()):
    """The score that `rate` of the harmless texts exceed, as the mean over their sources."""
    names = [s for s in sorted(set(sources)) if s not in skip]
    by = [np.sort(scores[np.array(sources) == s]) for s in names]
    low, high = float(scores.min()) - 1, float(scores.max()) + 1
    for _ in range(60):
        middle = (low + high) / 2
        if np.mean([(b >= middle).mean() for b in by]) > rate:
            low = middle
        else:
            high = middle
    return high
