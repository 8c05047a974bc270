"""Texts for the heads of personal data: (source, text, spans, unjudged ranges), from train files, made, and of other fields.

Texts of other fields carry no labels. What certainly is no personal data in them is one (a word in small letters, a number in
a sum), the rest is not judged: words that begin with a capital and are not common words at the begin of a sentence, years,
days, addresses of the net. Their ages ("a 45-year-old man") are labelled, since they have one form.
"""
import collections
import json
import pathlib
import random
import re
import sysconfig

import data
import multilingual_rows
import neural_pii
import pii_languages
import pii_named
import pii_prose
import pii_templates
import pii_values as values

HERE = pathlib.Path(__file__).resolve().parent
Row = collections.namedtuple("Row", "source text spans unjudged")
# Rows of a field's collection that are read. The last two are prose and code of documents, cut into pieces.
FIELDS = {"domain-mmlu": 1300, "domain-mmlu-pro": 1500, "routing-gsm8k": 400, "domain-longfact": 250, "intent-banking77": 250, "intent-clinc150": 350,
          "benign-prompts": 500, "benign-real-users": 600, "benign-security-docs": 300, "benign-gpteacher": 500, "tools-metatool": 250, "benign-coconot": 250}
SIZES = {"presidio": 2, "tweets": 4500, "made": 5500, "prose": 5000, "nothing": 2200, "code": 900, "documents": 350, "among": .18,
         "quiet": 900}
WRITTEN = sorted({field for field, _ in pii_named.written()})
VARIED = ", other names"   # of a text written by hand; one that counts in training, not in measuring
SMALL = {"intent-clinc150", "benign-coconot"}   # they write names in small letters: read, never trained on
FIGURES = re.compile(r"Mona Lisa|Frankenstein|Snow White|Hamlet|Sherlock|Claude|jordan|brazil|swiss|polish")   # not judged
PIECE = 620    # characters of a text of another field
CAPITAL = re.compile(r"[A-Z\u00c0-\u00de][\w'’.-]*")
DATED = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})s?\b|\b(?:today|tonight|yesterday|tomorrow|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|"
                   r"july|august|september|october|november|december|noon|midnight|morning|evening|week|weekend|month|year|century|centuries|decade|BC|BCE|AD|CE|a\.?m\.?|p\.?m\.?)s?\b|"
                   r"\b\d{1,2}(?:st|nd|rd|th)\b|\b\d{1,2}:\d{2}\b|\b\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}\b", re.I)
NEAR = re.compile(r"\b\d+(?:[- ]?(?:days?|weeks?|months?|years?|hours?|yrs?|yo|y/o)\b|\s+(?:Street|St|Avenue|Ave|Road|Rd|Lane)\b)|\b(?:age|aged|ages|zip|phone|call|ssn)\b\W+\d+", re.I)
NET = re.compile(r"https?\S*|www\.\S*|\S*@\S*|#\w+|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b[\w-]+\.(?:com|org|net|io|gov|edu|co)\b|\+?\d[\d ().-]{7,}\d")
OLD = re.compile(r"\b(\d{1,3})(?=[- ]years?[- ]old)")
BEGIN = re.compile(r"(?:^|[.?!:;\n\"“(\[*•-]\s*)$")
PROSE = re.compile(r"^[^=(){};_<>\[\]|]*$")


def common_words(texts):
    """Words that these texts write in small letters more than twice, and half as often as with a capital; and the usual of these."""
    small, tall = collections.Counter(), collections.Counter()
    for t in texts:
        for w in re.findall(r"[A-Za-z]+", t):
            (small if w.islower() else tall)[w.lower()] += 1
    return {w for w, n in small.items() if n > 2 and n > .5 * tall[w]}, {w for w, n in small.items() if n > 25 and n > 2 * tall[w]}


def small_names(common):
    """Names of our lists in small letters, which texts without capitals may mean."""
    lists = (values.FIRST, values.LAST, values.CITIES, values.COUNTRIES, values.STATES, values.NRP, values.PLURALS, values.ORGS, values.JOBS)
    return {w for names in lists for n in names for w in re.findall(r"[^\W\d_]{3,}", n.lower())} - common


def unjudged(text, common, names):
    out = [m.span() for rule in (DATED, NEAR, NET) for m in rule.finditer(text)]
    out += [m.span() for m in re.finditer(r"[^\W\d_]{3,}", text) if m.group() in names]
    for m in CAPITAL.finditer(text):
        known = m.group().rstrip(".,'").lower() in common
        if not (known and BEGIN.search(text[max(0, m.start() - 4):m.start()])) and m.group() not in ("I", "A", "I'm", "I've", "I'll", "I'd"):
            out.append(m.span())
    return out


def aged(text):
    return [(m.start(1), m.end(1), "AGE") for m in OLD.finditer(text)]


def piece(text, rng):
    """At most PIECE characters, from a word's begin on; mostly from the text's own begin."""
    if len(text) <= PIECE:
        return text
    at = 0 if rng.random() < .5 else rng.randint(0, len(text) - PIECE)
    at = 0 if not at else (text.find(" ", at) + 1 or at)
    return text[at:at + PIECE].rsplit(" ", 1)[0]


def read(root, name, part="train.jsonl"):
    path = pathlib.Path(root) / name / part
    for step in path.parts[-2:]:
        if data.FORBIDDEN.search(step):
            raise SystemExit(f"{path}: not a train file; this program trains on train files only")
    return [json.loads(line) for line in path.open(encoding="utf-8")]


def fields(root):
    """Texts of other fields by collection."""
    out = {}
    for name, most in FIELDS.items():
        rows = sorted({r.get("text") or r.get("prompt") or r.get("question") or "" for r in read(root, name)} - {""})
        rows = [t for t in rows if sum(ord(c) < 0x250 for c in t) > .97 * len(t)]
        out[name] = sorted(rows, key=lambda t: data.chance(t, "pii fields"))[:most]
    docs = [r["text"] for r in read(root, "longdocs-opensourceguide", "docs.jsonl") if r.get("lang", "en") == "en"]
    out["documents"] = [t[at:at + PIECE] for t in docs for at in range(0, len(t) - PIECE, PIECE)][:SIZES["documents"]]
    return out


def code(rng, package="scipy"):
    """Pieces of a pinned package's sources, without their lists of references and authors."""
    root, out = pathlib.Path(sysconfig.get_paths()["purelib"]) / package, []
    for path in sorted(root.rglob("*.py")):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        for at in range(0, len(lines) - 15, 15):
            text = "\n".join(lines[at:at + 15])
            if 80 < len(text) < 900 and not re.search(r"\.\. \[|References|Author|Copyright|author|et al|http|@", text):
                out.append(text)
    return rng.sample(out, SIZES["code"])


def unjudged_code(text):
    """Capitals in lines that read like prose."""
    out, at = [], 0
    for line in text.split("\n"):
        if PROSE.match(line):
            out += [(at + a, at + b) for a, b in (m.span() for m in CAPITAL.finditer(line))]
        at += len(line) + 1
    return out + [m.span() for rule in (DATED, NET) for m in rule.finditer(text)]


def amid(row, before, behind):
    """The row inside a document, which is not judged beyond its own marks."""
    text, spans, blank = row.text, row.spans, list(row.unjudged)
    if before:
        head, marks = before
        glue = "\n" if len(head) % 2 else " "
        shift = len(head) + len(glue)
        text, spans = head + glue + text, [(a + shift, b + shift, k) for a, b, k in spans]
        blank = marks + [(a + shift, b + shift) for a, b in blank]
    if behind:
        tail, marks = behind
        blank += [(a + len(text) + 1, b + len(text) + 1) for a, b in marks]
        text = text + " " + tail
    return Row(row.source, text, spans, blank)


def english(root, seed=7):
    """(rows, held): `held` are the templates of presidio and the tweets that the adapters did not see."""
    rng = random.Random(seed)
    own, _, held = neural_pii.load(root)
    others = fields(root)
    common, usual = common_words([t for texts in others.values() for t in texts])
    names = small_names(usual)
    out, kept = [], []
    pool = neural_pii.pools([r for r, h in zip(own, held) if not h and r[0] == "presidio"])
    tweets = [r for r, h in zip(own, held) if not h and r[0] == "tweets"]
    tweets = rng.sample([r for r in tweets if r[2]], SIZES["tweets"] * 4 // 5) + rng.sample([r for r in tweets if not r[2]], SIZES["tweets"] // 5)
    rows = [("presidio", r[1], r[2]) for r, h in zip(own, held) if not h and r[0] == "presidio"]
    for _ in range(SIZES["presidio"] - 1):
        rows += [neural_pii.vary(r, pool, rng)[:3] for r, h in zip(own, held) if not h and r[0] == "presidio"]
    rows += [r[:3] for r in tweets]
    rows += [("made", *pii_templates.make(rng)) for _ in range(SIZES["made"])]
    for _ in range(SIZES["prose"]):
        text, spans = pii_prose.prose(rng)
        rows.append(("prose", pii_templates.disturb(text, spans, rng), spans))
    rows += [("nothing", *pii_prose.nothing(rng)) for _ in range(SIZES["nothing"])]
    doubtful = {"tweets": neural_pii.UNNEURALD, "presidio": neural_pii.MISSED_AGE, "nothing": FIGURES}
    for source, text, spans in rows:
        blank = [m.span() for m in doubtful[source].finditer(text)] if source in doubtful else []
        out.append(Row(source, text, [tuple(s) for s in spans], blank))
    for source, text, spans, _ in (r for r, h in zip(own, held) if h):
        kept.append(Row(source, text, [tuple(s) for s in spans], []))
    pieces = []
    for name, texts in others.items():
        for t in texts:
            t = piece(t, rng)
            marks = unjudged(t, common, names)
            pieces.append((t, marks))
            ages = aged(t)
            marks = [(a, b) for a, b in marks if not any(a < e and s < b for s, e, _ in ages)]
            out.append(Row(name, t, ages, marks))
    for t in code(rng):
        out.append(Row("code", t, [], unjudged_code(t)))
    short = [p for p in pieces if len(p[0]) < 300 and not OLD.search(p[0])]
    for i, r in enumerate(out):
        if r.source in ("presidio", "made", "prose") and rng.random() < SIZES["among"]:
            out[i] = amid(r, rng.choice(short) if rng.random() < .6 else None, rng.choice(short) if rng.random() < .6 else None)
    return out + named(root, common, names, random.Random(seed + 1)), kept


def named(root, common, names, rng):
    """Real prose whose names our lists know, texts labelled by hand with others' names, and code and logs without any."""
    out = []
    for text, spans, blank in pii_named.passages(root, read, rng):
        blank += [u for u in unjudged(text, common, names) if not any(u[0] < b and a < u[1] for a, b, _ in spans)]
        out.append(Row("named", text, spans, blank))
    for field, line in pii_named.written():
        out.append(Row(f"written, {field}", *pii_named.parse(line)))
        out += [Row(f"written, {field}{VARIED}", *pii_named.parse(pii_named.variant(line, rng))) for _ in range(pii_named.VARIANTS)]
    quiet = [t.replace("\\n", "\n").replace("\\t", "\t") for t in (HERE / "pii_quiet.txt").read_text(encoding="utf-8").split("\n") if t and not t.startswith("# ")]
    return out + [Row("quiet", pii_named.quiet(rng.choice(quiet), rng), [], []) for _ in range(SIZES["quiet"])]


# Texts in other scripts that are no personal data, or hardly any: collection -> rows.
FOREIGN = {"domain-gaokao-zh": 220, "benign-prompts-zh": 130, "benign-multilingual": 450, "longdocs-opensourceguide": 420, "benign-lobe-agents": 900,
           "benign-followbench": 180, "similarity-korean-qpairs": 260, "harmful-multijail": 400}
EXAMS = {"math", "physics", "chemistry", "biology"}
EACH, ENGLISH = 210, {"made": 500, "presidio": 300, "prose": 200}


def foreign_fields(root):
    out = {}
    for name, most in FOREIGN.items():
        texts = []
        for r in read(root, name, "docs.jsonl" if name.startswith("longdocs") else "train.jsonl"):
            if name == "domain-gaokao-zh" and r["label"] not in EXAMS:
                continue
            t = r.get("text") or r.get("text1") or r.get("q1") or r.get("a") or ""
            texts += [t[at:at + 300] for at in range(0, max(len(t) - 100, 1), 300)] if name.startswith("longdocs") else [t[:400]]
        texts = [t for t in dict.fromkeys(texts) if t and multilingual_rows.is_foreign(t)]
        out[name] = sorted(texts, key=lambda t: data.chance(t, "pii fields"))[:most]
    return out


def unjudged_foreign(text):
    """Words with a capital inside a sentence, dates, digits beside them; scripts without capitals are taken as they are."""
    out = [m.span() for rule in (DATED, NET) for m in rule.finditer(text)]
    out += [m.span() for m in re.finditer(r"\d+\s?[年月日년월일]|\b\d{4}\b|[A-Z][A-Za-z]+", text)]
    for m in re.finditer(r"[^\W\d_]+", text):
        w = m.group()
        if w[0].isupper() and ord(w[0]) > 0x24f and not BEGIN.search(text[max(0, m.start() - 4):m.start()]):
            out.append(m.span())
    return out


def multilingual(root, seed=7):
    """Rows for the head on multilingual-e5-small; the source of made ones is their language."""
    rng, out = random.Random(seed), []
    for language in pii_languages.LANGUAGES:
        for _ in range(EACH):
            out.append(Row(language, *pii_languages.make(rng, language), []))
        for _ in range(EACH // 8):
            out.append(Row(language, *pii_languages.nothing(rng, language), []))
    for name, texts in foreign_fields(root).items():
        out += [Row(f"{name}, other scripts", t, [], unjudged_foreign(t)) for t in texts]
    own, _, held = neural_pii.load(root)
    own = [r for r, h in zip(own, held) if not h and r[0] == "presidio"]
    out += [Row("presidio", r[1], r[2], [m.span() for m in neural_pii.MISSED_AGE.finditer(r[1])]) for r in rng.sample(own, ENGLISH["presidio"])]
    out += [Row("made", *pii_templates.make(rng), []) for _ in range(ENGLISH["made"])]
    out += [Row("prose", *pii_prose.prose(rng), []) for _ in range(ENGLISH["prose"])]
    return out
