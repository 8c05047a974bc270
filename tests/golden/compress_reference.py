#!/usr/bin/env python3
"""An independent reading of the prompt compression in arXiv 2603.12646, section IV-B, with the published constants.

Dense, slow and plain on purpose. Reads tests/golden/compress/*.txt and writes NAME.json beside each: for every
sentence the estimate and the four scores, the composite, and what is kept. Ties: the lower index first.
Usage: compress_reference.py [FOLDER]
"""
import json
import math
import pathlib
import sys
import unicodedata

MARKS = ".!?\u3002\uff01\uff1f\u061f\u0964\u0965\u1362\u0589"
PROFILES = {  # textrank, position, tfidf, novelty, depth, first, last
    "default": (0.20, 0.40, 0.35, 0.05, 0.5, 3, 2),
    "security": (0.15, 0.30, 0.25, 0.30, 0.6, 2, 3),
    "multi_turn": (0.15, 0.25, 0.35, 0.10, 0.5, 2, 5),
}


def is_cjk(c):
    name = unicodedata.name(c, "")
    return name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEO", "CJK RADICAL", "KANGXI", "HANGUL")) or (
        name.startswith(("HIRAGANA LETTER", "KATAKANA LETTER", "HIRAGANA ITERATION", "KATAKANA ITERATION")))


def is_letter_or_digit(c):
    category = unicodedata.category(c)
    return category[0] == "L" or category == "Nd"


def dot_stays(text, start, i):
    before, after = text[i - 1] if i > start else "", text[i + 1] if i + 1 < len(text) else ""
    if before and after and unicodedata.category(before) == unicodedata.category(after) == "Nd":
        return True
    if not before or unicodedata.category(before) != "Lu" or after != " " or i + 2 >= len(text):
        return False
    alone = i - 1 == start or text[i - 2] == " "
    return alone and unicodedata.category(text[i + 2]) == "Lu"


def sentences(text):
    """Character spans."""
    text_end = len(text.rstrip())
    i = len(text) - len(text.lstrip())
    found, start = [], i
    while i < text_end:
        if text[i] in MARKS and not (text[i] == "." and dot_stays(text, start, i)):
            while i < text_end and text[i] in MARKS:
                i += 1
            found.append((start, i))
            while i < text_end and text[i].isspace():
                i += 1
            start = i
        else:
            i += 1
    if start < text_end:
        found.append((start, text_end))
    return found


def estimate(text):
    cjk = words = 0
    for field in text.split():
        here = sum(is_cjk(c) for c in field)
        cjk += here
        words += here < len(field)
    return max(int(1.5 * cjk + 1.3 * words), 1 if text.split() else 0)


def terms(text):
    for field in text.split():
        inner = [i for i, c in enumerate(field) if is_letter_or_digit(c)]
        if not inner:
            continue
        word, run = field[inner[0]:inner[-1] + 1], ""
        for i, c in enumerate(word):
            if not is_cjk(c):
                run += c.lower()
                continue
            if run:
                yield run
            run = ""
            yield c
            if i and is_cjk(word[i - 1]):
                yield word[i - 1] + c
        if run:
            yield run


def cosine(a, b):
    dot = math.fsum(v * b[k] for k, v in a.items() if k in b)
    lengths = math.sqrt(math.fsum(v * v for v in a.values())) * math.sqrt(math.fsum(v * v for v in b.values()))
    return dot / lengths if lengths else 0.0


def frequencies(text):
    counts = {}
    total = 0
    for term in terms(text):
        counts[term] = counts.get(term, 0) + 1
        total += 1
    return {t: n / total for t, n in counts.items()}


def textrank(vectors):
    n = len(vectors)
    if n == 1:
        return [1.0]
    w = [[0.0 if i == j else cosine(vectors[i], vectors[j]) for j in range(n)] for i in range(n)]
    out = [math.fsum(w[j]) for j in range(n)]
    rank = [1.0 / n] * n
    for _ in range(100):
        new = [0.15 / n + 0.85 * math.fsum(w[i][j] / out[j] * rank[j] for j in range(n) if out[j]) for i in range(n)]
        change = max(abs(a - b) for a, b in zip(new, rank))
        rank = new
        if change < 1e-5:
            break
    return [r / max(rank) for r in rank]


def scores(texts, depth):
    n = len(texts)
    vectors = [frequencies(t) for t in texts]
    df = {}
    for v in vectors:
        for t in v:
            df[t] = df.get(t, 0) + 1
    density = [math.fsum(f * math.log((n + 1) / (df[t] + 1)) for t, f in v.items()) for v in vectors]
    centroid = {t: math.fsum(v.get(t, 0.0) for v in vectors) / n for t in df}
    novelty = [1 - cosine(v, centroid) if v else 0.0 for v in vectors]
    position = [1 - depth * math.sin(math.pi * i / (n - 1)) if n > 1 else 1.0 for i in range(n)]
    top = lambda xs: [x / max(xs) for x in xs] if max(xs) > 0 else xs
    return list(zip(textrank(vectors), position, top(density), top(novelty)))


def sample(spans):
    """Above 500 sentences: the first, the last, 498 evenly between."""
    total = len(spans)
    if total <= 500:
        return spans
    step = (total - 2) / 498
    middle = [min(1 + int(i * step + 0.5), total - 2) for i in range(498)]
    return [spans[i] for i in [0, *middle, total - 1]]


def compress(text, budget, profile):
    *weights, depth, first, last = PROFILES[profile]
    weights = [w / sum(weights) for w in weights]
    spans = sample(sentences(text))
    texts = [text[a:b] for a, b in spans]
    four = scores(texts, depth)
    composite = [sum(w * x for w, x in zip(weights, s)) for s in four]
    costs, n = [estimate(t) for t in texts], len(texts)
    order = [*range(min(first, n)), *range(max(n - last, 0), n)]
    order += sorted((i for i in range(n) if i not in order), key=lambda i: (-composite[i], i))
    kept, left = set(), budget
    for i in order:
        if i not in kept and costs[i] <= left:
            kept.add(i)
            left -= costs[i]
    kept = sorted(kept)
    offset = lambda i: len(text[:i].encode())
    return {
        "profile": profile, "budget": budget, "original_tokens": estimate(text), "compressed_tokens": budget - left,
        "sentences": [[offset(a), offset(b), c, *(round(x, 10) for x in s), round(k, 10)]
                      for (a, b), c, s, k in zip(spans, costs, four, composite)],
        "kept": kept, "text": " ".join(texts[i] for i in kept),
    }


def main():
    here = pathlib.Path(__file__).resolve().parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "compress"
    for path in sorted(folder.glob("*.txt")):
        text = path.read_bytes().decode()
        cases = [(60, "default"), (90, "security"), (40, "multi_turn")]
        runs = [compress(text, budget, profile) for budget, profile in cases[:1 if len(text) > 5000 else 3]]
        path.with_suffix(".json").write_text("[" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in runs) + "]\n")
        print(f"{path.name}: {len(runs[0]['sentences'])} sentences")


if __name__ == "__main__":
    main()
