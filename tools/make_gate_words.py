#!/usr/bin/env python3
"""src/cache/gate/words_table.c from words.txt beside it: the words that the cache's gate knows, in a hash table.

    tools/make_gate_words.py [--check]

--check fails when the file is not the one that words.txt gives.
"""
import argparse
import pathlib
import sys
import unicodedata

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "src" / "cache" / "gate"
LANGUAGES = ["en", "de", "es", "fr", "it", "pt", "nl", "ru", "zh", "ja", "ko"]  # as in words.h
CLASSES = ["stop", "neg", "weak", "num", "unit", "month", "day", "relative", "ask", "quant", "modal", "tense", "owner", "pair", "comp", "same", "degree", "aspect", "relation"]
NAMED = {
    "relative": ["today", "tomorrow", "yesterday", "overmorrow", "foreyesterday", "last", "next", "night", "morning", "noon",
                 "lastweek", "lastmonth", "lastyear", "thisweek", "thismonth", "thisyear", "nextweek", "nextmonth", "nextyear"],
    "ask": ["who", "when", "where", "why", "whom", "whereto", "wherefrom", "often", "how", "what", "amount"],
    "quant": ["all", "none", "some", "any", "most", "half", "both", "only", "almost", "never", "few", "often"],
    "degree": ["amount", "often", "far", "old", "long", "big", "high", "fast"],
    "modal": ["can", "may", "must", "should", "mustnot", "neednot", "want"],
    "tense": ["past", "future", "present"],
    "owner": ["me", "you", "he", "she", "they", "we"],
}
SLOTS = 8192      # SR_GATE_SLOTS
AXES_MAX = 384    # SR_GATE_AXES


def fnv(word):
    h = 0x811C9DC5
    for byte in word.encode():
        h = (h ^ byte) * 0x01000193 & 0xFFFFFFFF
    return h


def plain(word):
    """Without accents of Latin letters, as many people type."""
    return "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c)) if word < "\u0250" else word


class Table:
    def __init__(self):
        self.entries, self.units, self.numbers, self.groups, self.axes, self.dimensions = {}, [], [], 0, 0, {}

    def add(self, word, kind, value, langs):
        word = word.casefold()
        found = self.entries.setdefault(word, [])
        if (kind, value) not in [(k, v) for k, v, _ in found]:
            found.append((kind, value, langs))
        else:
            found[[(k, v) for k, v, _ in found].index((kind, value))] = (kind, value, langs | next(m for k, v, m in found if (k, v) == (kind, value)))

    def line(self, kind, langs, line):
        if kind in ("stop", "neg", "weak", "aspect", "relation"):
            for word in line.split():
                self.add(word, kind, 0, langs)
        elif kind == "num":
            for item in line.split():
                word, value = item.split("=")
                if float(value) not in self.numbers:
                    self.numbers.append(float(value))
                self.add(word, kind, self.numbers.index(float(value)), langs)
        elif kind == "unit":
            head, words = line.split(":", 1)
            name, factor = head.split()
            self.units.append((self.dimensions.setdefault(name, len(self.dimensions)), name, float(factor)))
            for word in words.split():
                self.add(word, kind, len(self.units) - 1, langs)
        elif kind in ("pair", "comp"):
            for side, words in enumerate(line.split("|")):
                for word in words.split():
                    self.add(word, kind, 2 * self.axes + side, langs)
            self.axes += 1
        elif kind == "same":
            for word in line.split():
                self.add(word, kind, self.groups, langs)
            self.groups += 1
        else:
            name, words = line.split(":", 1)
            value = int(name) if name.isdigit() else NAMED[kind].index(name)
            for word in words.split():
                self.add(word, kind, value, langs)


def read():
    table, kind, langs = Table(), None, 0
    for line in (FOLDER / "words.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            _, kind, *names = line.split()
            langs = sum(1 << LANGUAGES.index(n) for n in (LANGUAGES if names == ["*"] else names))
        elif line.strip() and not line.startswith("#"):
            table.line(kind, langs, line)
    for word, found in list(table.entries.items()):
        langs = 0
        for _, _, mask in found:
            langs |= mask
        bare = plain(word)
        if bare != word and bare not in table.entries and langs & 0x3E:
            table.entries[bare] = found
    return table


def packed(items):
    """Lines of many items."""
    lines, line = [], ""
    for item in items:
        if len(line.encode()) + len(item.encode()) > 116:
            lines.append(line)
            line = ""
        line += item
    return lines + [line]


def text_of(table):
    words = sorted(table.entries)
    if table.axes > AXES_MAX or len(words) > SLOTS * 2 // 3:
        sys.exit("too many words or opposites: see SR_GATE_AXES and SR_GATE_SLOTS in words.h")
    slots = [0] * SLOTS
    for number, word in enumerate(words, 1):
        at = fnv(word) % SLOTS
        while slots[at]:
            at = (at + 1) % SLOTS
        slots[at] = number
    out = ["/*", " * The words that the gate knows. Made by tools/make_gate_words.py from words.txt: edit that.", " */",
           '#include "cache/gate/words.h"', "", "/* clang-format off */"]
    out.append(f"const uint16_t sr_gate_slots[SR_GATE_SLOTS] = {{")
    out += packed(f"{s}," for s in slots)
    out += ["};", "const struct sr_gate_word sr_gate_words[] = {"]
    at, items = 0, []
    for word in words:
        items.append(f'{{"{word}",{len(word.encode())},{len(table.entries[word])},{at}}},')
        at += len(table.entries[word])
    out += packed(items)
    out += ["};", "const struct sr_gate_entry sr_gate_entries[] = {"]
    out += packed(f"{{{CLASSES.index(k)},{m},{v}}}," for word in words for k, v, m in table.entries[word])
    out += ["};", "const double sr_gate_numbers[] = {", *packed(f"{n!r}," for n in table.numbers), "};",
            "const struct sr_gate_unit sr_gate_units[] = {"]
    family = {"celsius": "temperature", "fahrenheit": "temperature", "kelvin": "temperature", "months": "time"}
    families, items = [], []
    for dimension, name, factor in table.units:
        group = family.get(name, name.split("_")[0])
        if group not in families:
            families.append(group)
        items.append(f"{{{factor!r},{dimension},{families.index(group)}}},")
    out += [*packed(items), "};", ""]
    return "\n".join(out)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--check", action="store_true")
    args = args.parse_args()
    path, text = FOLDER / "words_table.c", text_of(read())
    if args.check:
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path}: not what words.txt gives; run tools/make_gate_words.py")
    else:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
