"""Real prose with the names in it that our lists and their surroundings tell, for training: passages of encyclopaedias, news,
questions and stories from train files, whose authors did not label anything; and the texts of pii_written.txt, which are labelled.

`passages(root)` gives (source, text, spans, unjudged). A name is labelled where nothing else is likely: a first name of the
lists with the capitalised words behind it, and the last of these wherever it stands again; a country, a city, a people of the lists
between small letters; words that end or begin like an institution; days and years with a month or a preposition. Every other
word with a capital is not judged, so a mistake of these rules is mostly a name that nobody learns from.
"""
import pathlib
import random
import re

import pii_prose
import pii_values as values

HERE = pathlib.Path(__file__).resolve().parent
MARKS = {"P": "PERSON", "G": "GPE", "O": "ORGANIZATION", "D": "DATE_TIME", "N": "NRP", "T": "TITLE", "A": "AGE", "S": "STREET_ADDRESS", "Z": "ZIP_CODE", "F": "PHONE_NUMBER"}
MARK = re.compile(r"\{([A-Z]):([^}]*)\}")
WORD = r"[A-Z\u00c0-\u00de][\w’'\u00c0-\u024f-]*"
MONTH = "|".join(values.MONTHS)
DATE = re.compile(rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{MONTH})(?:,? \d{{4}})?|(?:{MONTH}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:{MONTH}),? \d{{4}}|(?:{'|'.join(values.DAYS)})(?: (?:morning|evening|night))?)\b(?! ?\d)")
YEAR = re.compile(r"(?:\b(?:in|since|by|from|until|till|during|of|before|after|around|circa|early|late|and|to|born) |\()((?:1[0-9]|20)\d{2})\b(?!\d|[%°.]\d?|\s?°| (?:[a-z]+s|km|m|kg|miles|people|percent)\b)")
PART = rf"(?:[A-Z]\.|St\.|{WORD})"
SEQUENCE = re.compile(rf"{PART}(?:(?: (?:of|de|van|von|der|den|al|bin|del|di|da|du|la|le|for|the|y|e)){{0,2}} {PART})*")
ENDS = set("University College Institute Museum Party League Company Corporation Society Association Council Committee Ministry Agency Bank Foundation Academy Inc Ltd Corp Club Orchestra Commission "
           "Records Airlines Observatory Hospital Federation Times Herald Tribune Gazette Laboratory Laboratories Consortium".split())
BEGINS = re.compile(r"^(?:University|Institute|Ministry|Department|Bank|Academy|Museum|Society|College|Bureau|Council) (?:of|for)\b")
FORMS = re.compile(r"\b(Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Sir|Lord|Lady)\b\.? ?$")
SEVERAL = re.compile(r" (?:and|for|the|of) ")
CITIES_TOO = {w.lower() for n in (*values.CITIES, *values.COUNTRIES, *values.STATES) for w in n.split()}
NOT_FIRST = {"April", "May", "June", "August", "Grace", "Hope", "Faith", "Joy", "Will", "Mark", "Bill", "Art", "Rose", "Grant", "Chase", "Frank", "Pat", "Rob", "Drew", "Dawn", "Christian", "Virginia",
             "Georgia", "Carolina", "Victoria", "Jordan", "Israel", "Chad", "Santa", "San", "Saint", "St", "The", "Angel", "Jade", "Iris", "Sky", "Max", "Sun", "King", "Prince", "Major", "Young", "Long", "Van", "Lee"}
FRAME = "For which of these two scenarios"   # one frame of many questions
MOST, LENGTHS = 3000, (60, 620)
VARIANTS = 8    # of a text of pii_written.txt, with other names


def lists():
    first = {n for n in values.FIRST if re.fullmatch(WORD, n)} | {n for locale in pii_prose.LATIN for n in pii_prose.names(locale)[1] if re.fullmatch(WORD, n) and len(n) > 2}
    last = {w for n in values.LAST for w in n.split()}
    places = {n for n in (*values.CITIES, *values.COUNTRIES, *values.STATES) if re.fullmatch(rf"{WORD}(?: {WORD})*", n)}
    peoples = {n for n in (*values.NRP, *values.PLURALS) if re.fullmatch(rf"{WORD}(?: {WORD})*", n)}
    first -= NOT_FIRST | places | peoples | set(values.MONTHS) | set(values.DAYS)
    return first, places - first - last, peoples - first - last


def person(words, first):
    """How many of the words from the begin on are a person's; 0 for none."""
    if words[0] not in first or not 2 <= len(words) <= 4 or any(w in ENDS or w.lower() in CITIES_TOO for w in words) or words[-1].endswith(("'s", "’s")) and len(words[-1]) < 4:
        return 0
    return len(words)


def kind_of(text, own, first, places, peoples, before):
    if own in peoples:
        return "NRP"
    if own in places:
        return "GPE"
    words = own.split()
    if len(words) > 1 and (words[-1].rstrip(".") in ENDS or BEGINS.match(own)):
        return "ORGANIZATION"
    small = SEVERAL.search(own)
    if not small and (person(words, first) or FORMS.search(before) and len(words) < 4):
        return "PERSON"
    return None


def label(text, known):
    """(spans, unjudged)"""
    first, places, peoples = known
    spans = [(m.start(), m.end(), "DATE_TIME") for m in DATE.finditer(text)]
    spans += [(m.start(1), m.end(1), "DATE_TIME") for m in YEAR.finditer(text) if not any(a < m.end(1) and m.start(1) < b for a, b, _ in spans)]
    blank, lasts = [], set()
    for m in SEQUENCE.finditer(text):
        if any(a < m.end() and m.start() < b for a, b, _ in spans):
            continue
        own, at = m.group().rstrip("."), m.start()
        if own.endswith(("'s", "’s")):
            own = own[:-2]
        form = re.match(r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor)\.?) ", own)
        if form:
            spans.append((at, at + form.end() - 1, "TITLE"))
            own, at = own[form.end():], at + form.end()
        begins = re.search(r"(?:^|[.?!:;\n\"“(•-]\s*)$", text[max(0, at - 4):at]) and not form
        kind = "PERSON" if form and not SEVERAL.search(own) else kind_of(text, own, first, places, peoples, text[max(0, at - 12):at])
        if kind == "PERSON" and re.search(r"\bthe $", text[max(0, at - 4):at], re.I) or kind == "PERSON" and begins and " " not in own:
            kind = None
        if not kind:
            blank.append((at, m.end()))
            continue
        spans.append((at, at + len(own), kind))
        if kind == "PERSON":
            lasts.add(own.split()[-1])
    again = [(a, b) for a, b in blank if text[a:b].rstrip(".").removesuffix("'s").removesuffix("’s") in lasts]
    spans += [(a, a + len(text[a:b].rstrip(".").removesuffix("'s").removesuffix("’s")), "PERSON") for a, b in again]
    return sorted(spans), [x for x in blank if x not in again]


def sentences(text, rng):
    """A piece of prose: whole sentences of at most LENGTHS[1] characters from a random one on."""
    parts = [p for p in re.split(r"(?<=[.?!]) +(?=[A-Z\"“])|\n+", text) if p.strip()]
    if not parts:
        return ""
    at, out = rng.randrange(len(parts)), ""
    for p in parts[at:]:
        if len(out) + len(p) > rng.choice([160, 300, LENGTHS[1]]):
            break
        out += (" " if out else "") + p
    return out


def passages(root, read, rng):
    """(text, spans, unjudged) of train files."""
    known, texts = lists(), set()
    for name in ("benign-t0-tasks", "injection-piarena", "domain-mmlu", "domain-mmlu-pro", "domain-longfact", "factcheck-weak"):
        for r in read(root, name):
            if r["label"] != "indirect_injection" and sum(ord(c) < 0x250 for c in r["text"]) > .97 * len(r["text"]):
                for _ in range(1 + min(len(r["text"]) // 500, 6)):
                    texts.add(sentences(r["text"], rng))
    out = []
    for t in sorted(texts):
        if t.startswith(FRAME) or not LENGTHS[0] <= len(t) <= LENGTHS[1]:
            continue
        spans, blank = label(t, known)
        if len(spans) > 1 or spans and rng.random() < .3:
            out.append((t, spans, blank))
    return rng.sample(out, min(MOST, len(out)))


def parse(line):
    text, spans, blank, at = "", [], [], 0
    for m in MARK.finditer(line):
        text, at = text + line[at:m.start()], m.end()
        own = (len(text), len(text) + len(m[2]))
        blank.append(own) if m[1] == "X" else spans.append((*own, MARKS[m[1]]))
        text += m[2]
    return text + line[at:], spans, blank


def written():
    """(field, line) of pii_written.txt."""
    field = None
    for line in (HERE / "pii_written.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            field = line[3:]
        elif line and not line.startswith("# "):
            yield field, line.replace("\\n", "\n")


def other(mark, value, rng):
    """Another value of its shape."""
    small, made = value.islower(), value
    if mark == "P":
        made = pii_prose.varied("FULL" if " " in value else rng.choice(["FIRST", "LAST"]), rng)
    elif mark == "G":
        made = pii_prose.varied("COUNTRY" if value in values.COUNTRIES else "CITY", rng)
    elif mark == "O" and rng.random() < .5:
        made = pii_prose.varied("ORGANIZATION", rng)
    return made.lower() if small and len(made.lower()) == len(made) else made


def variant(line, rng):
    """The line with other names; the same name stays the same one."""
    names = {}

    def swap(m):
        key = m.groups()
        if key not in names:
            names[key] = other(*key, rng) if m[1] in "PGO" and rng.random() < .85 else m[2]
        return "{%s:%s}" % (m[1], names[key])
    return MARK.sub(swap, line)


CHOICE = re.compile(r"\[\[(.*?)\]\]|§")


def quiet(line, rng):
    """A line of pii_quiet.txt with its digits and choices filled in."""
    return CHOICE.sub(lambda m: rng.choice(m[1].split("~")) if m[1] is not None else str(rng.randint(0, 9)), line)


if __name__ == "__main__":
    import pii_rows
    rng = random.Random(3)
    rows = passages(HERE.parent.parent / "shared" / "data", pii_rows.read, rng)
    print(len(rows))
    for text, spans, blank in rng.sample(rows, 40):
        print(text, [(text[a:b], k) for a, b, k in spans], "|", [text[a:b] for a, b in blank], "\n")
