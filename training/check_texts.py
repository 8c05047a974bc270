#!/usr/bin/env python3
"""Checks files of training/texts: their form, how many texts there are by technique, language and size, and which texts share too much.

    training/check_texts.py [FILE ...]      all files of texts/ and its folders when none is named

Two texts share too much when a quarter of the shorter one's 5-grams (words; characters where a script has no spaces) stand in
the other. Exit 1 when a file is malformed or texts share too much.
"""
import collections
import pathlib
import re
import sys

import written

SIZES = (("short", 0), ("medium", 300), ("long", 1500))   # characters
SHARED = 0.25
SPACELESS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


def grams(text):
    """The text's 5-grams; of scripts without spaces, sequences of ten characters."""
    if len(SPACELESS.findall(text)) * 3 > len(text):
        plain = re.sub(r"\W+", "", text)
        return {plain[i:i + 10] for i in range(max(1, len(plain) - 9))}
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i:i + 5]) for i in range(max(1, len(words) - 4))}


def size(text):
    return [name for name, least in SIZES if len(text) >= least][-1]


def counts(records):
    """Lines of the table: technique, texts by size in English and in other languages, languages."""
    table = collections.defaultdict(lambda: [collections.Counter(), set()])
    for record in records:
        row = table[record.kind]
        row[0][size(record.text), record.lang == "en"] += 1
        row[1].add(record.lang)
    yield f"{'':20} " + " ".join(f"{name:>11}" for name, _ in SIZES) + "  (English and others)"
    for kind, (sizes, langs) in sorted(table.items()):
        yield f"{kind:20} " + " ".join(f"{sizes[name, True]:4} + {sizes[name, False]:4}" for name, _ in SIZES) + f"  {len(langs):3} languages: {' '.join(sorted(langs))}"


def shared(records):
    """(share, name, name) of pairs over SHARED."""
    index, sets = collections.defaultdict(list), []
    for number, record in enumerate(records):
        sets.append(grams(record.text))
        for gram in sets[-1]:
            index[gram].append(number)
    pairs = collections.Counter()
    for holders in index.values():
        for i, a in enumerate(holders[:50]):
            for b in holders[i + 1:50]:
                pairs[a, b] += 1
    for (a, b), n in pairs.items():
        share = n / min(len(sets[a]), len(sets[b]))
        if share > SHARED and min(len(sets[a]), len(sets[b])) > 3:
            yield share, records[a].name, records[b].name


def main():
    files = {pathlib.Path(f).resolve().stem for f in sys.argv[1:]}
    folders = (written.FOLDER, *sorted(p for p in written.FOLDER.iterdir() if p.is_dir()))
    records = [r for folder in folders for r in written.read(folder) if not files or r.name.rsplit(" ", 1)[0] in files]
    if not records:
        sys.exit("no texts in these files")
    for line in counts(records):
        print(line)
    pairs = sorted(shared(records), reverse=True)
    for share, a, b in pairs[:40]:
        print(f"{share:.0%} of 5-grams shared: {a}, {b}")
    print(f"{len(records)} texts, {len(pairs)} pairs share too much")
    return 1 if pairs else 0


if __name__ == "__main__":
    sys.exit(main())
