"""Words of a text for the heads of personal data, as src/infer/classifier decides them: which tokens are one word (word.c), how it is
written, and what that does to the odds of a type (`capitals` in config.json), which a trunk without capitals cannot know.

`answers` are a head's, word by word; `spans` are the findings that become of them; `fit` finds the odds.
"""
import unicodedata

import numpy as np
import torch

import pii_templates

TYPES = pii_templates.TYPES
CASES = ("plain", "small", "inside", "first", "tall")   # enum sr_word_case
OPENING = set(".?!:;\n\"([*-|“”•–—")
SMALL_LEAST, MOST = 0.35, 64
PRIOR = 6.0     # how strongly the odds hold to 1: so many words of doubt
DENSE = [(0x0e00, 0x0eff), (0x1000, 0x109f), (0x1780, 0x17ff), (0x3040, 0x30ff), (0x31f0, 0x31ff), (0x3400, 0x4dbf), (0x4e00, 0x9fff), (0xf900, 0xfaff), (0x20000, 0x3134f), (0x1100, 0x11ff), (0x3130, 0x318f), (0xac00, 0xd7af)]


def in_word(c):
    kind = unicodedata.category(c)
    return kind[0] in "LM" or kind == "Nd"


def joins(c):
    return unicodedata.category(c)[0] in "LM" and not any(a <= ord(c) <= b for a, b in DENSE)


def uses_capitals(text):
    small = tall = 0
    inside = False
    for c in text:
        kind = unicodedata.category(c)
        if not inside:
            small += kind == "Ll"
            tall += kind == "Lu"
        inside = in_word(c)
    return small > 0 and tall > 0 and small >= SMALL_LEAST * (small + tall)


def case_of(text, start, end):
    if start >= end or not in_word(text[start]):
        return 0
    low, high = max(0, start - MOST), min(len(text), end + MOST)
    while start > low and in_word(text[start - 1]):
        start -= 1
    while end < high and in_word(text[end]):
        end += 1
    kinds = [unicodedata.category(c) for c in text[start:end]]
    upper = kinds.count("Lu")
    if kinds[0] == "Ll":
        return 0 if upper else 1
    if kinds[0] != "Lu":
        return 0
    if upper > 1 and upper == sum(k[0] == "L" for k in kinds):
        return 4
    before = text[:start].rstrip(" \t\r")[-1:]
    return 3 if not before or before in OPENING else 2


def begins(trunk, ids):
    """Which tokens begin a word."""
    out = np.ones(len(ids), bool)
    for i in range(1, len(ids)):
        if trunk.pieces[ids[i]]:
            out[i] = False
        elif trunk.spaced:
            last, own = trunk.tokens[ids[i - 1]], trunk.tokens[ids[i]]
            out[i] = not (last and own and own[0] != "▁" and joins(last[-1]) and joins(own[0]))
    return out


@torch.no_grad()
def answers(head, texts, features, trunk, capitals=True):
    """Of each text: first and last token of its words, their offsets, probabilities [words, 1 + types], how likely each begins a
    span, and their case."""
    out = []
    for text, (ids, offsets, x) in zip(texts, features):
        q = torch.softmax(head(torch.from_numpy(x.astype(np.float32))), -1).numpy()
        p, b = np.concatenate([q[:, :1], q[:, 1::2] + q[:, 2::2]], 1), q[:, 1::2].sum(1)
        first = np.nonzero(begins(trunk, ids))[0]
        bounds = list(zip(first, np.append(first[1:], len(ids))))
        used = capitals and uses_capitals(text)
        out.append({"first": first, "at": [(int(offsets[a, 0]), int(offsets[e - 1, 1])) for a, e in bounds], "begin": b[first],
                    "p": np.array([p[a:e].mean(0) for a, e in bounds]).reshape(-1, len(TYPES) + 1),
                    "case": np.array([case_of(text, int(offsets[a, 0]), int(offsets[a, 1])) if used else 0 for a, _ in bounds], int)})
    return out


def spans(answer, odds=None):
    """Findings (start, end, type, score) of a text. `odds` [cases, types]: natural logarithms."""
    out = []
    for k, (start, end) in enumerate(answer["at"]):
        p = answer["p"][k]
        kind = 1 + int(p[1:].argmax())
        own, likely = float(p[kind]), float(p[kind]) * (float(np.exp(odds[answer["case"][k], kind - 1])) if odds is not None else 1.0)
        if likely <= p[0]:
            out.append(None)
            continue
        score = likely / (likely + 1 - own)
        last = out[-1] if out else None
        if last and last[2] == kind and not (answer["begin"][k] > own / 2 and start > last[1]):
            out[-1] = (last[0], end, kind, last[3] + [score])
        else:
            out.append((start, end, kind, [score]))
    return [(s, e, TYPES[k - 1], float(np.mean(ps))) for s, e, k, ps in (o for o in out if o)]


def fit(answers, labels):
    """The odds: of each case and type what makes the likelihood of `labels` (of the first tokens of words; -100: not judged)
    highest, with a prior at none."""
    p, case, y = (np.concatenate(x) for x in (([a["p"] for a in answers]), [a["case"] for a in answers], labels))
    kind = 1 + p[:, 1:].argmax(1)
    own = np.clip(p[np.arange(len(p)), kind], 1e-6, 1 - 1e-6)
    right, logit = (y + 1) // 2 == kind, np.log(own / (1 - own))
    out = np.zeros((len(CASES), len(TYPES)))
    for c in range(1, len(CASES)):
        for t in range(len(TYPES)):
            pick = (case == c) & (kind == t + 1) & (y >= 0) & (own > .02)
            for _ in range(30):
                q = 1 / (1 + np.exp(-(logit[pick] + out[c, t])))
                slope, bend = (right[pick] - q).sum() - PRIOR * out[c, t], (q * (1 - q)).sum() + PRIOR
                out[c, t] = np.clip(out[c, t] + np.clip(slope / bend, -1, 1), -4, 4)
    return np.round(out, 2)


def as_config(odds):
    return {t: {name: float(odds[c, k]) for c, name in enumerate(CASES) if c} for k, t in enumerate(TYPES) if odds[:, k].any()}
