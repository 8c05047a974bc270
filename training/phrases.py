"""Templates with choices inside, for the generators of attacks and of harmless texts.

«a|b|c» is one of its options (they nest, and may be empty), @word@ is a slot of the call or an entry of a lexicon, whose
entries are templates too. What fills a slot is never read as a template, so that texts from files are safe there.
"""
import functools
import random
import re

VOWELS = tuple("aeioAEIO") + ("un", "Un")
TOKEN = re.compile(r"[«»|]|@[a-z_0-9]+@")

COMMON = {
    "first": ["Maria", "Tom", "Aisha", "Kenji", "Olga", "Liam", "Priya", "Noah", "Chen", "Fatima", "Lucas", "Ingrid", "Mateo", "Zuri", "Anders", "Leila", "Sam", "Nadia",
              "Victor", "Hana", "Paul", "Greta", "Diego", "Ruth", "Yusuf", "Ellen"],
    "last": ["Weber", "Okafor", "Tanaka", "Silva", "Novak", "Haddad", "Larsen", "Moreau", "Kim", "Patel", "Rossi", "Jensen", "Dube", "Ivanova", "Costa", "Berg"],
    "company": ["Northwind Tools", "Bluefern", "Acme Parcel", "Kestrel Bank", "Solarleaf", "Tidewater Travel", "Mondello Foods", "Pinecrest Clinic", "Halden Telecom",
                "Quillon", "Varga Motors", "Lumina Books", "Oakline Insurance", "Ferrywise", "Zentrix", "Cobalt Energy"],
    "city": ["Lisbon", "Oslo", "Nairobi", "Osaka", "Lyon", "Denver", "Pune", "Gdansk", "Leeds", "Quito", "Perth", "Cork", "Graz", "Busan"],
    "digit": list("23456789"),
    "number": ["@digit@", "1@digit@", "@digit@0", "@digit@@digit@", "@digit@00"],
    "word": ["meadow", "drop", "relay", "lantern", "harbor", "pixel", "quartz", "delta", "mirror", "cobalt", "ferry", "sparrow", "ember", "willow", "saddle", "velvet"],
    "domain": ["@word@-@word@.«net|org|io|example»", "«files|cdn|api|img|mail».@word@«@digit@|».«net|org|example»"],
    "month": ["January", "March", "April", "May", "June", "August", "October", "November"],
    "day": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"],
}


# What any message may begin with; the caller knows @name@.
LEADS = ["«Hi|Hello|Hey|Ok|So|Listen|Right|Good morning|Please|Dear bot|Assistant|Friend|@first@ here|@name@|Fun idea|Next|One more|Task @number@|Let's go|New topic|For a friend|Serious now|Between us|Quick»«,|:|.|!| -» ",
         "«I am|This is|My name is» @first@ «@last@ |»«from @city@|, a big fan|, @number@ years old|and I need you». ", "«After|Before» «lunch|the meeting|@day@|we start|anything else»: ", "«Last time|Yesterday|In @month@» «it worked|you helped me|your answer was too short». ",
         "«Read|Take|Use» «this|the following|what I wrote» «as is|carefully|twice|and act». ", "(@word@ @number@) ", "«Thanks|Thank you|Great work|Nice»«!|, @first@ here.|. Now this.» "]


@functools.lru_cache(maxsize=None)
def parsed(template):
    """A template as a list of parts: a string, a slot as ("slot",), or options as a list of lists of parts."""
    stack = [[[]]]
    at = 0
    for m in TOKEN.finditer(template):
        if m.start() > at:
            stack[-1][-1].append(template[at:m.start()])
        at = m.end()
        sign = m.group()
        if sign == "«":
            stack.append([[]])
        elif sign == "»":
            options = stack.pop()
            stack[-1][-1].append(options)
        elif sign == "|":
            if len(stack) == 1:
                stack[-1][-1].append("|")
            else:
                stack[-1].append([])
        else:
            stack[-1][-1].append((sign[1:-1],))
    if at < len(template):
        stack[-1][-1].append(template[at:])
    if len(stack) != 1:
        raise ValueError(f"unbalanced: {template[:60]}")
    return stack[0][0]


def walk(rng, parts, lexicon, slots, out):
    for p in parts:
        if isinstance(p, str):
            out.append(p)
        elif isinstance(p, list):
            walk(rng, p[int(rng.random() * len(p))], lexicon, slots, out)
        elif p[0] in slots:
            out.append(slots[p[0]])
        else:
            entries = lexicon[p[0]]
            walk(rng, parsed(entries[int(rng.random() * len(entries))]), lexicon, slots, out)


def spin(rng, template, lexicon, **slots):
    out = []
    walk(rng, parsed(template), lexicon, slots, out)
    text = ""
    for piece in out:
        if text[-3:].lower() in (" a ", "\na ", "a ") and piece.startswith(VOWELS):
            text = text[:-1] + "n "
        text += piece
    return text


def several(rng, pool, low, high):
    """Some entries of a pool, in random order."""
    return rng.sample(pool, min(len(pool), rng.randint(low, high)))


def rules(rng, items):
    """Items as a list in one of the shapes that people write."""
    marks = rng.choice(["1.", "1)", "-", "*", "•", "Rule 1:", "(1)", "[1]", "1 -"])
    lines = [marks.replace("1", str(i + 1)) + " " + item for i, item in enumerate(items)]
    return rng.choice(["\n", "\n", "\n", " "]).join(lines)


NEAR = {"a": "sq", "e": "wr", "i": "uo", "o": "ip", "t": "ry", "n": "bm", "s": "ad", "r": "et", "l": "k", "c": "xv"}
SHORT = {"you": "u", "are": "r", "your": "ur", "please": "pls", "and": "n", "because": "cuz", "going to": "gonna", "with": "wit", "the": "teh", "don't": "dont",
         "I'm": "im", "can't": "cant", "to": "2", "for": "4"}


def roughened(rng, text):
    """The text as a hurried hand types it."""
    how = rng.random()
    if how < .3:
        text = text.lower()
    elif how < .4:
        text = text.upper()
    if how < .8:
        swaps = {w: s for w, s in SHORT.items() if rng.random() < .3}
        if swaps:
            text = re.sub(r"\b(" + "|".join(map(re.escape, swaps)) + r")\b", lambda m: swaps[m.group()], text)
    if .2 < how:
        rate = rng.choice([.005, .01, .02])
        letters = list(text)
        for i in range(len(letters)):
            if rng.random() < rate and letters[i] in NEAR:
                kind = rng.random()
                letters[i] = "" if kind < .4 else letters[i] * 2 if kind < .6 else rng.choice(NEAR[letters[i]])
        text = "".join(letters)
    if how > .7:
        text = re.sub(r"[.,;:'](?=\s|$)", lambda m: "" if rng.random() < .8 else m.group(), text)
    return text


def made_name(rng):
    """A name that nobody has."""
    parts = rng.choice([("Zer", "Kal", "Vor", "Mal", "Nyx", "Ar", "Xen", "Lum", "Tor", "Bel", "Or", "Sil", "Dra", "Pyr"), ("Neo", "Omni", "Ultra", "Free", "Evil", "Dark",
                       "Based", "Open", "Raw", "Wild", "True", "Shadow", "Anti", "Liber")])
    ends = ("ath", "ion", "ix", "or", "ena", "us", "yx", "amir", "GPT", "Bot", "AI", "-X", "-9", "Mind", "Core", "Soul", "tron", "oth", "elle")
    return rng.choice(parts) + rng.choice(ends)
