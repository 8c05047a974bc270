"""Rows for what is trained on multilingual-e5-small, and the trunk's vectors of them, computed by the built binary and kept in shards.

    /usr/bin/python3 multilingual_rows.py --binary ../build/semroute --work DIR [--data ../../shared/data]

Train files, and the texts and frames written for training, no other. Each text is cut to one window. Goes on where it stopped:
a text that was read is found by its SHA-256. What is judged of the rows is multilingual_guard.py's and multilingual_domain.py's.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import random
import subprocess
import tempfile
import unicodedata

import numpy as np

import attacks
import data
import jailbreak_data as jd
import left_out_names
import written

HERE = pathlib.Path(__file__).resolve().parent
LINEAR = "left-out-linear.npz"   # of left_out_linear.py
SHARD, PRECISION, TOKENS = 1000, "int8", 225
MOST = 60               # English rows of a source and a label
MOST_FOREIGN = 400      # other rows of a source and a label
MOST_WRITTEN = 1500     # as many of what was written for training
GUARD_MOST, GUARD_MOST_FOREIGN = 300, 500   # the same of guard_rows, which has all that was written
FRAMED = 700            # attacks of frames of attacks.py in guard_rows, and as many look-alikes
MADE = 1200             # attacks, and as many look-alikes, from frames of attacks.py in other languages
DOMAIN = {"mmlu-pro": 3000, "mmlu": 2500, "longfact": 900, "gaokao-zh": 9999, "exemplars": 9999, "requests": 2500}
MOST_GROUPS = len(left_out_names.GROUPS)   # for heads on what is frozen
GROUPS, TOGETHER = 3, (0, 1, 2, 0, 1)      # for the adapters: which of those are one
# collections that those groups do not have
FURTHER = {"intent-clinc150": 0, "pii-presidio": 1, "domain-gaokao-zh": 2, "routing-gsm8k": 2, "chat-rag-bills": 3, "domain-mmlu": 3}
GROUP = {**FURTHER, **{name: k for k, names in enumerate(left_out_names.GROUPS) for name in names}}
# carriers that few texts have are left out together
SMALL = {"cv": "cv, review, chat", "review": "cv, review, chat", "chat": "cv, review, chat", "code": "code, passage", "passage": "code, passage"}
# texts that models/neural does not know, and those that the linear tier does not know either
LATER = tuple(f"written {folder.name} " for folder in written.LATER)
NEW = (*(f"written {folder.name} " for folder in written.LINEAR), *LATER)
OWN = (*(f"written {path.stem} " for path in sorted((written.FOLDER / "multilingual").glob("*.txt"))), *LATER)
# task: jailbreak or domain; group: rows that must not be parted; foreign: by its script
Row = collections.namedtuple("Row", "task source text label lang kind group foreign weight")


def family(row):
    """What is left out together, and weighs as much as any other."""
    if row.source == "written-attacks" and row.kind.startswith("hidden_"):
        carrier = row.kind.removeprefix("hidden_")
        return f"carrier {SMALL.get(carrier, carrier)}"
    if row.source == "written-attacks":
        return f"technique {row.kind}"
    if row.source == "written-lookalikes" and row.kind == "carrier":
        return f"harmless carriers {int(data.chance(row.group, 'part') * 3)}"
    if row.source == "written-lookalikes":
        return f"look-alikes {int(data.chance(row.group, 'part') * 6)}"
    return row.source


def counted(name):
    """The family that a part of the few harmless carriers counts for."""
    return name.rstrip(" 0123456789") if name.startswith("harmless carriers") else name


def group_of(name, groups=GROUPS):
    """The families that are left out at once, of GROUPS or MOST_GROUPS; -1: of none, what is made from frames of ours. A model
    that knows no harmless carrier takes a quarter of them for attacks: the parts of these are never left out together."""
    if name.startswith("harmless carriers "):
        return int(name.split()[-1]) % groups
    if name.startswith(("technique ", "carrier ", "look-alikes ")):
        return int(data.chance(name, "guard group") * groups)
    group = GROUP.get(name, -1)
    return TOGETHER[group] if groups == GROUPS and group >= 0 else group


def is_own(row):
    """Written for these heads alone."""
    return row.group.startswith(OWN)


def is_foreign(text):
    """A quarter of the letters, and more, are not Latin: such a text is what these heads are for."""
    letters = [c for c in text if c.isalpha()]
    return sum("LATIN" not in unicodedata.name(c, "") for c in letters) > 0.25 * max(len(letters), 1)


def language(row):
    """Two letters; the collections name languages in several ways."""
    name = (row.lang or "").lower().replace("_", "-").split("-")[0]
    named = {"domain-gaokao-zh": "zh", "src": "zh"}
    return named.get(row.source, named.get(name, name)) or "en"


def collected_rows(root):
    """Real and written rows, and a few made in other languages than English."""
    rows, harmful, _ = jd.load(root, made={name: 0 for name in jd.MADE})
    rng = random.Random("multilingual made")
    harmless = [r.text for r in rows if not r.label and 12 < len(r.text) < 220 and "\n" not in r.text and r.source in ("benign-multilingual", "benign-real-users")]
    cores = harmful * 2 + rng.sample(harmless, len(harmful))
    while sum(r.source == "made-attacks" for r in rows) < MADE:
        text, kind, lang = attacks.attack(rng, cores)
        if lang != "en":
            rows.append(jd.Row("made-attacks", text, 1, kind, lang, 0.3, f"made {len(rows)}"))
    while sum(r.source == "made-lookalikes" for r in rows) < MADE:
        text, lang = attacks.lookalike(rng, harmless)
        if lang != "en":
            rows.append(jd.Row("made-lookalikes", text, 0, "lookalike", lang, 0.4, f"like {len(rows)}"))
    taken, out = collections.Counter(), []
    for r in sorted(rows, key=lambda r: data.chance(r.text, "multilingual")):
        row = cut(r)
        place = (row.source, row.label, row.lang == "en")
        taken[place] += 1
        if taken[place] <= (MOST if row.lang == "en" else MOST_WRITTEN if row.source.startswith("written-") else MOST_FOREIGN):
            out.append(row)
    return out


def cut(r):
    """One window of it."""
    text = jd.window(r.text, random.Random(r.text), TOKENS, 0.8)
    return Row("jailbreak", r.source, text, r.label, language(r), r.kind, r.group, is_foreign(text), r.weight)


def written_rows(folder=""):
    """What was written for this trunk alone, all of it; with a folder's name, of that folder instead."""
    out = []
    for r in written.read(written.FOLDER / (folder or "multilingual")):
        source = "attacks" if r.attack else "lookalikes"
        out.append(cut(jd.Row(f"written-{source}", r.text, int(r.attack), r.kind, r.lang, jd.WRITTEN[source][1] if not folder else 1.0,
                              f"written {folder} {r.name}".replace("  ", " "))))
    return out


def guard_rows(root):
    """Rows for the guard's adapters: more of each source, every text that was written for training once, those of written.LINEAR,
    which models/neural does not learn from, among them."""
    rows, harmful, _ = jd.load(root, made={name: 0 for name in jd.MADE})
    rng = random.Random("multilingual made")
    harmless = [r.text for r in rows if not r.label and 12 < len(r.text) < 220 and "\n" not in r.text and r.source in ("benign-multilingual", "benign-real-users")]
    cores = harmful * 2 + rng.sample(harmless, len(harmful))
    for i in range(FRAMED):
        text, kind, lang = attacks.attack(rng, cores)
        rows.append(jd.Row("made-attacks", text, 1, kind, lang, 0.3, f"made {i}"))
        text, lang = attacks.lookalike(rng, harmless)
        rows.append(jd.Row("made-lookalikes", text, 0, "lookalike", lang, 0.4, f"like {i}"))
    taken, seen, out = collections.Counter(), set(), []
    for r in sorted(rows, key=lambda r: data.chance(r.text, "multilingual")):
        row = cut(r)
        place = r.group if r.source.startswith("written-") else (row.source, row.label, row.lang == "en")
        taken[place] += 1
        if taken[place] <= (1 if r.source.startswith("written-") else GUARD_MOST if row.lang == "en" else GUARD_MOST_FOREIGN):
            out.append(row)
    out += written_rows()
    for folder in written.LINEAR:
        out += written_rows(folder.name)
    return list({r.text: r for r in out}.values())


def later_rows():
    """What the guard's adapters learn later, folder by folder, and the linear tier not at all."""
    return [r for folder in written.LATER for r in written_rows(folder.name)]


def training_of(row):
    """The first training, 0, that has the row."""
    return next((k for k, start in enumerate(LATER, 1) if row.group.startswith(start)), 0)


def jailbreak_rows(root):
    return list({r.text: r for r in collected_rows(root) + written_rows()}.values())


def domain_rows(root):
    rows, _ = data.load(root)
    ids, taken, out = data.clusters(rows), collections.Counter(), []
    for i in sorted(range(len(rows)), key=lambda i: data.chance(rows[i].text, "multilingual")):
        r = rows[i]
        taken[r.source] += 1
        if taken[r.source] > DOMAIN[r.source]:
            continue
        text = jd.window(r.text, random.Random(r.text), TOKENS, 1.0)
        foreign = is_foreign(text)
        lang = "zh" if r.source == "gaokao-zh" else ""
        out.append(Row("domain", r.collection, text, r.label, lang, r.source, f"domain {ids[i]}", foreign, 1.0))
    return list({r.text: r for r in out}.values())


def load(root):
    return jailbreak_rows(root) + domain_rows(root)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def embed(binary, texts, precision=PRECISION):
    """[n, 384] at length 1."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts)
        file.flush()
        done = subprocess.run([binary, "embed", "--model", "multilingual", "--precision", precision, "--threads", "1", "--jsonl", file.name],
                              capture_output=True, text=True, check=True)
    return np.array([json.loads(line)["embedding"] for line in done.stdout.splitlines()], np.float32)


def features(binary, work, texts):
    """The vectors of texts, from the shards where they are there, else computed and kept."""
    work.mkdir(parents=True, exist_ok=True)
    known = {}
    for path in sorted(work.glob("[0-9]*.npz")):
        shard = np.load(path)
        known.update(zip(shard["text"].tolist(), shard["x"]))
    missing = sorted({digest(t): t for t in texts if digest(t) not in known}.items())
    number = len(list(work.glob("[0-9]*.npz")))
    for at in range(0, len(missing), SHARD):
        mine = missing[at:at + SHARD]
        x = embed(binary, [t for _, t in mine])
        np.savez(work / "part.npz", x=x, text=[d for d, _ in mine])
        (work / "part.npz").replace(work / f"{number:04d}.npz")
        known.update(zip((d for d, _ in mine), x))
        number += 1
        print(json.dumps({"texts": at + len(mine), "of": len(missing)}), flush=True)
    return np.array([known[digest(t)] for t in texts])


def linear(work, texts):
    """Log odds of texts by linear models that have not seen their family; NaN where they are of no group."""
    file = np.load(work / LINEAR)
    known = dict(zip(file["text"].tolist(), file["odds"].tolist()))
    return np.array([known.get(digest(t), np.nan) for t in texts])


def shipped_linear(binary, texts):
    """Log odds of an attack by the linear tier as it ships."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts)
        file.flush()
        done = subprocess.run([binary, "classify", "--task", "jailbreak", "--tier", "linear", "--jsonl", file.name], capture_output=True, text=True, check=True)
    p = np.clip([json.loads(line)["score"] for line in done.stdout.splitlines()], 1e-7, 1 - 1e-7)
    return np.log(p / (1 - p))


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--binary", default=HERE.parent / "build" / "semroute", type=pathlib.Path)
    args.add_argument("--work", required=True, type=pathlib.Path)
    args.add_argument("--data", default=HERE.parent.parent / "shared" / "data", type=pathlib.Path)
    args = args.parse_args()
    rows = load(args.data)
    for task in ("jailbreak", "domain"):
        mine = [r for r in rows if r.task == task]
        print(task, len(mine), "foreign", sum(r.foreign for r in mine), collections.Counter((r.source, r.label if task == "jailbreak" else 0) for r in mine).most_common(90))
        print(collections.Counter((r.lang, r.label) for r in mine if task == "jailbreak").most_common(80))
    features(args.binary, args.work, [r.text for r in rows])


if __name__ == "__main__":
    main()
