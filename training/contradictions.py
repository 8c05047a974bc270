"""tests/data/cache/contradictions.jsonl and paraphrases.jsonl: pairs of questions for the cache's gate.

    python3 contradictions.py [--check]

Reads contradictions.txt, which says how its lines are written. A contradiction differs in one slot, and in half of
the pairs in wording too; a paraphrase of the same line differs in wording alone. The seed is fixed: the files change
only with the text. --check fails when the files are not those that the text gives.
"""
import argparse
import json
import pathlib
import random
import re
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent / "tests" / "data" / "cache"
SEED = 20
PAIRS = 16        # contradictions of a line at most
PARAPHRASES = 4   # paraphrases of a line at most
PART = re.compile(r"\{([^}]*)\}|\[([^\]]*)\]|<([12])>")


def lines():
    """(family, language, kind, line without its roles, holders of the roles)."""
    section = None
    for raw in (HERE / "contradictions.txt").read_text(encoding="utf-8").splitlines():
        if raw.startswith("@"):
            section = tuple(raw.split()[1:])
        elif raw.strip() and not raw.startswith("#"):
            line, _, holders = raw.partition(" :: ")
            yield (*section, line, [h.strip() for h in holders.split(",") if h.strip()])


def parts(line):
    """Texts and slots in order: ("text", str), ("value" or "wording", [str]), ("role", 0 or 1)."""
    at, found = 0, []
    for match in PART.finditer(line):
        found.append(("text", line[at:match.start()]))
        value, wording, role = match.groups()
        if value is not None:
            found.append(("value", value.split("|")))
        elif wording is not None:
            found.append(("wording", wording.split("|")))
        else:
            found.append(("role", int(role) - 1))
        at = match.end()
    return found + [("text", line[at:])]


def fill(pieces, choice, roles):
    return "".join(what if kind == "text" else roles[what] if kind == "role" else what[choice[i]] for i, (kind, what) in enumerate(pieces))


def contradiction(rng, pieces, holders):
    slots = [i for i, (kind, _) in enumerate(pieces) if kind in ("value", "wording")]
    values = [i for i in slots if pieces[i][0] == "value"]
    one = {i: rng.randrange(len(pieces[i][1])) for i in slots}
    two = dict(one)
    roles = rng.sample(holders, 2) if holders else []
    if rng.random() < 0.5:
        two.update({i: rng.randrange(len(pieces[i][1])) for i in slots if pieces[i][0] == "wording"})
    if values:
        i = rng.choice(values)
        two[i] = rng.choice([k for k in range(len(pieces[i][1])) if k != one[i]])
    return fill(pieces, one, roles), fill(pieces, two, roles if values else roles[::-1])


def paraphrase(rng, pieces, holders):
    slots = [i for i, (kind, _) in enumerate(pieces) if kind in ("value", "wording")]
    wordings = [i for i in slots if pieces[i][0] == "wording"]
    if not wordings:
        return None
    one = {i: rng.randrange(len(pieces[i][1])) for i in slots}
    two = dict(one)
    i = rng.choice(wordings)
    two[i] = rng.choice([k for k in range(len(pieces[i][1])) if k != one[i]])
    roles = rng.sample(holders, 2) if holders else []
    return fill(pieces, one, roles), fill(pieces, two, roles)


def pairs(make, count):
    for family, lang, kind, line, holders in lines():
        rng = random.Random(zlib.crc32(line.encode()) ^ SEED)
        pieces, seen = parts(line), set()
        for _ in range(20 * count):
            pair = make(rng, pieces, holders)
            if len(seen) == count or pair is None:
                break
            if frozenset(pair) in seen:
                continue
            seen.add(frozenset(pair))
            yield {"a": pair[0], "b": pair[1], "same": make is paraphrase, "kind": kind, "lang": lang, "family": family}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--check", action="store_true")
    args = args.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    for name, make, count in (("contradictions", contradiction, PAIRS), ("paraphrases", paraphrase, PARAPHRASES)):
        rows = list(pairs(make, count))
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path = OUT / f"{name}.jsonl"
        if args.check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            sys.exit(f"{path}: not what contradictions.txt gives; run training/contradictions.py")
        if not args.check:
            path.write_text(text, encoding="utf-8")
            print(f"{name}: {len(rows)}, of family B {sum(r['family'] == 'B' for r in rows)}")


if __name__ == "__main__":
    main()
