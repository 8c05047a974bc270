#!/usr/bin/env python3
"""Checks prose: lines of documents have at most 120 columns, and no file uses a word that the glossary refuses.

The words are the table at the end of docs/internals/glossary.md. Tables, code and lines that cannot be broken may be
longer. `--wrap FILE...` breaks the long lines of documents anew."""
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS = 120
GLOSSARY = "docs/internals/glossary.md"
HEADING = "## Refused words"
WORDED = ("src/", "include/", "docs/", "deploy/", "examples/", "README.md")
VOCABULARIES = {"src/cache/gate/words_table.c"}  # words that a program looks for, not words of ours
TEXTS = (".md", ".c", ".h", ".cc", ".yaml", ".json")
ITEM = re.compile(r"(\s*)([-*]|\d+\.) ")
WORD = re.compile(r"[\w-]+")


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0:
        return [name for name in listed.stdout.split("\n") if name and (ROOT / name).is_file()]
    return [str(p.relative_to(ROOT)) for top in ("src", "include", "docs", "deploy", "examples", "models", "training")
            for p in sorted((ROOT / top).rglob("*"))] + ["README.md"]


def prose(lines):
    """Numbers, from 0, of the lines that are prose: no table, no fenced or indented code."""
    fenced = code = False
    for i, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        blank_before = i == 0 or not lines[i - 1].strip()
        code = line.startswith("    ") and not ITEM.match(line) and (code or blank_before)
        if not fenced and not code and not line.lstrip().startswith(("|", "#", "<!--")):
            yield i


def too_long(line):
    return len(line) > COLUMNS and " " in line.strip()[:COLUMNS]


def wrap(text):
    """The text with every paragraph and list item that has a line that is too long broken anew."""
    lines = text.split("\n")
    kept = set(prose(lines))
    out, i = [], 0
    while i < len(lines):
        if i not in kept or not lines[i].strip():
            out.append(lines[i])
            i += 1
            continue
        block = [lines[i]]
        i += 1
        while i < len(lines) and i in kept and lines[i].strip() and not ITEM.match(lines[i]):
            block.append(lines[i])
            i += 1
        if not any(too_long(line) for line in block):
            out += block
            continue
        item = ITEM.match(block[0])
        first = item.group(0) if item else re.match(r"\s*", block[0]).group(0)
        rest = re.match(r"\s*", block[1]).group(0) if len(block) > 1 else " " * len(first)
        out += textwrap.wrap(" ".join([block[0][len(first):]] + [line.strip() for line in block[1:]]), COLUMNS,
                             initial_indent=first, subsequent_indent=rest, break_long_words=False,
                             break_on_hyphens=False)
    return "\n".join(out)


def refused():
    """What the glossary's last table refuses: (first word, pattern, the words, what to say instead)."""
    _, table = (ROOT / GLOSSARY).read_text(encoding="utf-8").split(HEADING)
    for row in re.findall(r"^\| (`.*`) \| (.*) \|$", table, re.M):
        for words in re.findall(r"`([^`]+)`", row[0]):
            pattern = r"[\s*/\"]+".join(re.escape(word) for word in words.split())
            first = WORD.match(words.lower())[0]
            yield first, re.compile(rf"(?<![\w-]){pattern}(?![\w-])", re.I), words, row[1]


def main():
    if sys.argv[1:2] == ["--wrap"]:
        for name in sys.argv[2:]:
            path = pathlib.Path(name)
            path.write_text(wrap(path.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    problems = []
    rules = list(refused())
    for name in tracked():
        if not name.endswith(TEXTS):
            continue
        documents = name.endswith(".md")
        worded = name.startswith(WORDED) and name != GLOSSARY and name not in VOCABULARIES
        if not documents and not worded:
            continue
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        if documents:
            lines = text.split("\n")
            problems += [f"{name}:{i + 1}: {len(lines[i])} columns, the limit is {COLUMNS}"
                         for i in prose(lines) if too_long(lines[i])]
        present = set(WORD.findall(text.lower())) if worded else ()
        for first, pattern, words, instead in rules:
            for found in pattern.finditer(text) if first in present else ():
                line = text.count("\n", 0, found.start()) + 1
                problems.append(f"{name}:{line}: `{words}`: write {instead}")
    print("\n".join(problems) if problems else "prose: good")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
