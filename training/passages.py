"""Passages of a text: paragraphs, lines of long ones, sentences of long lines, the twin of src/text/passages.c; and, for training, lines."""
import collections

Form = collections.namedtuple("Form", "most least sentence lines")   # the first three in bytes
PARAGRAPHS, LINES = Form(800, 24, 160, False), Form(240, 40, 120, True)
SPACE = b" \t\r\n"
STOPS = ("。".encode(), "！".encode(), "？".encode())


def _paragraph_end(text, at, end):
    """Behind the first line end in [at, end) that a blank line follows; -1: none."""
    while True:
        at = text.find(b"\n", at, end)
        if at < 0:
            return -1
        to = at + 1
        while to < end and text[to] in b" \t\r":
            to += 1
        if to < end and text[to] == 10:
            return to + 1
        at += 1


def _sentence_end(text, at, end):
    for i in range(at, end):
        if text[i] in b".!?" and i + 1 < end and text[i + 1] in SPACE:
            return i + 1
        if text[i:i + 3] in STOPS and i + 3 <= end:
            return i + 3
    return -1


def passages(text, form=PARAGRAPHS):
    """(start, end) of each in bytes."""
    out, at, n = [], 0, len(text)
    while True:
        while at < n and text[at] in SPACE:
            at += 1
        if at == n:
            return out
        limit = min(at + form.most, n)
        line = text.find(b"\n", at + form.least, limit) + 1 or -1
        end = line if form.lines else _paragraph_end(text, min(at + form.least, n), limit)
        if limit == n and (end < 0 or form.lines and n - end < form.least):
            end = n
        if end < 0:
            end = line
        if end < 0:
            end = _sentence_end(text, at + form.sentence, limit)
        if end < 0:
            end = limit
            while end > at + 1 and limit - end < 4 and text[end] & 0xC0 == 0x80:
                end -= 1
        out.append((at, end))
        at = end


def pieces(text):
    """The lines of a str, and sentences of long ones; a short last line goes with the one before it."""
    raw = text.encode()
    return [raw[start:end].decode() for start, end in passages(raw, LINES)]
