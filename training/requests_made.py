"""Requests as users type them to an assistant, made from our own frames: requests_frames.txt (English) and
requests_languages.txt. The subject decides the label; tasks (an email, a quiz, a plan) occur under every label.

A frame's `<a|b|c>` is one of the alternatives, `<2..90>` a number, `\\n` a line break. Texts that share a frame, or the
topic of a common frame, share a group: what must not be cut when rows are held out.
"""
import collections
import math
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["requests_frames.txt", "requests_languages.txt"]
COMMON, FOREIGN = 0.22, 0.10  # shares of common frames around a topic, and of other languages
SLOT = re.compile(r"<(\d+)\.\.(\d+)>|<([^<>|]*(?:\|[^<>|]*)+)>")
BEFORE = ["hi, ", "hey ", "Hello! ", "hi there, ", "please help. ", "quick one: ", "ok so ", "Question: ", "hey, ", "So, ",
          "Can you help me? ", "i need help, ", "Good morning. ", "another thing: ", "and ", "also, ", "hmm, ", "Dear assistant, ",
          "sorry if this is a dumb question but ", "new question. "]
AFTER = [" thanks", " Thanks!", " thx", " please", " Keep it short.", " Explain like I'm new to this.", " Be concise.", " pls help",
         " Answer in simple words.", " any ideas?", " Thank you in advance!", " I'm in a hurry.", " What am I missing?",
         " Give me a detailed answer.", " Step by step please.", " no long intro please", " Use bullet points.", " tia",
         " In two or three sentences.", " What would you do?"]
ABOUT = ["I'm in my second year and a bit behind.", "English is not my first language, so plain words please.", "I have asked two people and got two answers.",
         "We talked about this at dinner yesterday.", "I already searched for an hour.", "It is for a small group of about ten people.",
         "I only have my phone with me right now.", "Last week I asked something similar and the answer was too long.",
         "My deadline is tomorrow morning.", "I don't need perfect, I need something that works.", "I'm 34 and live in a small town.",
         "You are a patient and friendly assistant.", "You are ChatGPT, a large language model.", "I will paste it somewhere afterwards, so no markdown.",
         "A friend said you are good at this.", "I am trying to get a better feeling for the whole thing.", "Sorry for typos, I'm on the train.",
         "This has been bothering me for days.", "It's for a presentation in front of people who know nothing about it.",
         "Please first tell me whether the question makes sense at all.", "I tried it on my own but got stuck half way.",
         "Ignore what I wrote before, that was a mix-up.", "My sister thinks I am wrong, but I am fairly sure.", "Let's take it slowly."]

# text; label: its name; group: what it shares with near copies
Request = collections.namedtuple("Request", "text label group")


def sections(name):
    """(section, line) of every line that is neither empty nor a comment."""
    section = None
    for line in (HERE / name).read_text(encoding="utf-8").split("\n"):
        if line.startswith("== "):
            section = line[3:].strip()
        elif line.strip() and not line.startswith("# "):
            yield section, line.replace("\\n", "\n")


def variants(frame):
    """How many texts a frame stands for."""
    return math.prod(int(m[2]) - int(m[1]) + 1 if m[1] else m[3].count("|") + 1 for m in SLOT.finditer(frame))


class Frames:
    """own: label to frames; common: frames around {T}; topics: label to topics; foreign: label to [(language, entry)];
    around: language to frames around {T}; share: how often each of own is drawn."""

    def __init__(self):
        self.own, self.topics = collections.defaultdict(list), collections.defaultdict(list)
        self.foreign, self.around, self.common = collections.defaultdict(list), {}, []
        for section, line in sections(FILES[0]):
            if section == "common":
                self.common.append(line)
            elif line.startswith("@ "):
                self.topics[section] += line[2:].split("|")
            else:
                self.own[section].append(line)
        self.share = {label: [math.log2(2 * variants(f)) for f in frames] for label, frames in self.own.items()}
        for section, line in sections(FILES[1]):
            language, entries = line.split(" ", 1)
            if section == "common":
                self.around[language] = entries.split("|")
            else:
                self.foreign[section] += [(language, e) for e in entries.split("|")]


FRAMES = Frames()


def filled(frame, rng):
    def one(slot):
        if slot[1]:
            return str(rng.randint(int(slot[1]), int(slot[2])))
        return rng.choice(slot[3].split("|"))

    return SLOT.sub(one, frame)


def careless(text, rng):
    """Greetings, thanks, remarks about oneself, lower case and missing signs, whatever the subject."""
    dice = rng.random()
    if dice < 0.15:
        text = rng.choice(BEFORE) + text
    elif dice < 0.27:
        text += rng.choice(AFTER)
    elif dice < 0.40:
        said = rng.sample(ABOUT, rng.randint(1, 3))
        text = rng.choice([" ", "\n"]).join([*said[1:], text[0].upper() + text[1:], said[0]])
    if rng.random() < 0.18 and "\n" not in text:
        text = text.lower()
    if rng.random() < 0.18:
        text = text.rstrip(" .?!")
    return text


def request(label, rng):
    dice = rng.random()
    if dice < FOREIGN:
        language, entry = rng.choice(FRAMES.foreign[label])
        if entry[-1] not in ".?!。？！":  # a topic, else a request of its own
            return Request(rng.choice(FRAMES.around[language]).replace("{T}", entry), label, f"{label} {entry}")
        return Request(entry, label, f"{label} {entry}")
    if dice < FOREIGN + COMMON:
        topic = rng.choice(FRAMES.topics[label])
        text = filled(rng.choice(FRAMES.common), rng).replace("{T}", topic)
        return Request(careless(text[0].upper() + text[1:] if rng.random() < 0.5 else text, rng), label, f"{label} {topic}")
    frame = rng.choices(FRAMES.own[label], FRAMES.share[label])[0]
    return Request(careless(filled(frame, rng), rng), label, f"{label} {frame}")


def drawn(rng, n):
    """`n` Requests, as many of each label as can be."""
    labels = sorted(FRAMES.own)
    return [request(labels[i % len(labels)], rng) for i in range(n)]


def requests(rng, n):
    """`n` pairs (text, label)."""
    return [(r.text, r.label) for r in drawn(rng, n)]
