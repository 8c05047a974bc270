"""Texts written one by one for training, in texts/*.txt: attacks and harmless texts, no two of one frame.

A record begins with a line `%% kind=... lang=...`; below it stands the text up to the next such line. A text may hold choices
«a|b|c», which nest: one record stands for all that can be drawn from it.
"""
import collections
import hashlib
import pathlib
import re

FOLDER = pathlib.Path(__file__).resolve().parent / "texts"
FAMILIES = FOLDER / "families"                 # texts that models/neural was not trained on (guard_families.py), nor on those of the other two
LINEAR = (FAMILIES, FOLDER / "further", FOLDER / "linear", FOLDER / "wider")    # folders that the linear tier reads besides
LATER = (FOLDER / "broader", FOLDER / "nearer", FOLDER / "deeper")   # for the guard of neural-multilingual alone: with the first two the linear tier was worse
HARMLESS = {"lookalike", "long", "carrier"}     # kinds; all others are attacks
Record = collections.namedtuple("Record", "name text kind lang attack")
HEAD = re.compile(r"%% kind=(\w+) lang=(\w+)")
CHOICE = re.compile(r"«([^«»]*)»")


def read(folder=FOLDER):
    """All records, in the order of the files' names."""
    out = []
    for path in sorted(folder.glob("*.txt")):
        head, lines, count = None, [], 0
        rows = path.read_text(encoding="utf-8").splitlines() + ["%% kind=end lang=end"]
        for number, line in enumerate(rows):
            match = HEAD.match(line)
            if not match and line.startswith("%%"):
                raise ValueError(f"{path.name}:{number + 1}: not `%% kind=... lang=...`")
            if not match:
                lines.append(line)
                continue
            text = "\n".join(lines).strip()
            if head and text:
                kind, lang = head
                count += 1
                out.append(Record(f"{path.stem} {count}", text, kind, lang, kind not in HARMLESS))
            head, lines = match.groups(), []
    return out


def inputs(paths=None):
    """(name, records, sha256) of the files, for the card."""
    out = []
    for path in sorted(paths or FOLDER.glob("*.txt")):
        content = path.read_bytes()
        n = sum(1 for line in content.split(b"\n") if (line.startswith(b"%%") if path.is_relative_to(FOLDER) else b"\t" in line))
        out.append((f"training/{path.relative_to(FOLDER.parent)}", n, hashlib.sha256(content).hexdigest()))
    return out


def draw(rng, record):
    """One of the texts that the record stands for."""
    text = record.text
    while True:
        changed = CHOICE.sub(lambda m: rng.choice(m.group(1).split("|")), text)
        if changed == text:
            return text.strip()
        text = changed
