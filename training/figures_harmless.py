"""Findings of private data in texts of other fields, by the built binary: a part of docs/quality/pii.md (figures_eval.py).

pii_harmless.txt was written without names, dates and places: every finding in it is wrong. Collections do name people and
places; so of their findings those are called wrong that cannot be right by their form: ages, numbers and addresses in texts
that have none but exercises, and names in small letters. The others may be right, and are counted beside.
"""
import json
import pathlib
import tempfile

import figures_common as common

CODE = [("C, src/net", "src/net", "*.c"), ("C, src/json and src/text", "src/json", "*.c"), ("Python, tests/integration", "tests/integration", "keys_*.py")]
COLLECTIONS = ["domain-mmlu-pro", "domain-mmlu", "domain-longfact", "benign-prompts", "benign-real-users", "benign-security-docs", "benign-gpteacher", "tools-metatool"]
FIELDS = {"math", "physics", "chemistry", "biology", "history", "law", "economics", "health", "psychology", "philosophy", "computer science", "engineering", "business"}
NAMES = {"PERSON", "GPE", "ORGANIZATION", "NRP", "TITLE"}
MOST, PIECE = 60, 1200


def written():
    """Texts by field."""
    out, field = {}, None
    for line in (common.HERE / "pii_harmless.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            field = line[3:]
        elif line and not line.startswith("# "):
            out.setdefault(f"written: {field}", []).append(line.replace("\\n", "\n").replace("\\t", "\t"))
    return out


def collections(root):
    out = {}
    for name in COLLECTIONS:
        for r in common.rows_of(root / name / "dev.jsonl"):
            text = r["text"]
            if sum(ord(c) < 0x250 for c in text) < .97 * len(text):
                continue
            field = r.get("label") if r.get("label") in FIELDS else None
            out.setdefault(f"exams: {field}" if field and name.startswith("domain-mmlu") else name, []).append(text)
    return {k: common.sample([{"text": t} for t in v], MOST, "harmless") for k, v in sorted(out.items())}


def code():
    out = {}
    for name, folder, form in CODE:
        for path in sorted((common.HERE.parent / folder).rglob(form)):
            text = path.read_text(encoding="utf-8")
            out.setdefault(name, []).extend(text[at:at + PIECE] for at in range(0, len(text), PIECE))
    return {k: common.sample([{"text": t} for t in v], MOST, "harmless") for k, v in out.items()}


def findings(binary, texts, threshold=0.7):
    """Of each text (type, text) of what the shipped setting finds."""
    with tempfile.TemporaryDirectory() as name:
        path = common.write_rows(pathlib.Path(name) / "texts.jsonl", ({"text": t} for t in texts))
        answer = common.run(binary, "classify", "--task", "pii", "--precision", "int8", "--jsonl", path)
    return [[(e["type"], e["text"]) for e in json.loads(line)["entities"] if e["confidence"] >= threshold] for line in answer.splitlines() if line.startswith("{")]


def is_wrong(kind, text):
    return text == text.lower() if kind in NAMES else kind not in ("DATE_TIME", "DOMAIN_NAME", "EMAIL_ADDRESS")


def row(name, texts, found, all_wrong):
    words = sum(len(t.split()) for t in texts)
    flat = [f for own in found for f in own]
    wrong = flat if all_wrong else [f for f in flat if is_wrong(*f)]
    return {"field": name, "texts": len(texts), "words": words, "findings": len(flat), "wrong": len(wrong), "wrong_per_1000": round(1000 * len(wrong) / words, 2), "findings_per_1000": round(1000 * len(flat) / words, 2),
            "examples": sorted({f"{k}: {t[:24]}" for k, t in wrong})[:6]}


def measure(args):
    sets = [(n, t, True) for n, t in written().items()] + [(n, [r["text"] for r in t], False) for n, t in {**collections(args.data), **code()}.items()]
    found = iter(findings(args.binary, [t for _, texts, _ in sets for t in texts]))
    return [row(n, texts, [next(found) for _ in texts], all_wrong) for n, texts, all_wrong in sets]


def total(name, rows):
    words, wrong, n = (sum(r[k] for r in rows) for k in ("words", "wrong", "findings"))
    return {"field": f"**{name}**", "texts": sum(r["texts"] for r in rows), "words": words, "findings": n, "wrong": wrong, "wrong_per_1000": round(1000 * wrong / words, 2), "findings_per_1000": round(1000 * n / words, 2), "examples": []}


def is_code(r):
    return r["field"].startswith(("C,", "Python,")) or r["field"] in ("written: code", "written: logs and data")


def groups(rows):
    return [("written prose", [r for r in rows if r["field"].startswith("written") and not is_code(r)]), ("collections", [r for r in rows if not r["field"].startswith("written") and not is_code(r)]),
              ("code and logs", [r for r in rows if is_code(r)])]


def table(rows):
    lines = [x for name, own in groups(rows) for x in [total(name, own), *own]]
    return common.table(["field", "texts", "words", "wrong per 1,000 words", "all findings per 1,000 words"],
                        [[r["field"], r["texts"], f"{r['words']:,}", f"{r['wrong_per_1000']:.2f}", f"{r['findings_per_1000']:.2f}"] for r in lines])
