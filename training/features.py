"""Text features of the linear tier: the Python side of src/model/linear/linear.c.

Both sides must produce the same 64-bit keys from the same bytes; tests/golden/linear_domain.jsonl pins that.
A text is decoded as UTF-8 (anything broken is a separator), folded to lower case by arithmetic on ranges, and read
as a stream of symbols in which runs of separators are one space. Two families of keys come from the stream:
character n-grams of up to six symbols (up to five across a space), and words (one, two in a row, two with one
between). A key counts once per text.
"""
import numpy as np

SPACE, LETTER, SIGN, IDEOGRAPH = 0, 1, 2, 3
MASK = (1 << 64) - 1
K_CHAR = 0x9E3779B97F4A7C15
K_WORD = 0xD6E8FEB86659FD93
K_MIX = 0xFF51AFD7ED558CCD
SEED_WORD = 0x2545F4914F6CDD1D
SEED_PAIR = 0x6C62272E07BB0142
SEED_SKIP = 0x8EBC6AF09C88C6E3
CHAR_ACROSS = 5  # longest n-gram that may have a space inside
CHAR_MAX = 6
SIGNS = "#$%&*+/<=>@[\\]^{|}~"


def _class_ranges():
    """(first, last, class) over code points; what no range names is SPACE. The C table has the same rows."""
    return [
        (0x30, 0x39, LETTER), (0x41, 0x5A, LETTER), (0x61, 0x7A, LETTER),
        (0xAA, 0xAA, LETTER), (0xB0, 0xB1, SIGN), (0xB5, 0xB5, LETTER), (0xBA, 0xBA, LETTER),
        (0xC0, 0xD6, LETTER), (0xD7, 0xD7, SIGN), (0xD8, 0xF6, LETTER), (0xF7, 0xF7, SIGN),
        (0xF8, 0x1FFF, LETTER), (0x2070, 0x209F, LETTER), (0x20A0, 0x20CF, SIGN), (0x2100, 0x214F, LETTER),
        (0x2190, 0x23FF, SIGN), (0x2500, 0x2BFF, SIGN), (0x2C00, 0x2DFF, LETTER), (0x2E80, 0x2FFF, IDEOGRAPH),
        (0x3005, 0x3007, IDEOGRAPH), (0x3040, 0x30FF, IDEOGRAPH), (0x3100, 0x318F, LETTER),
        (0x3400, 0x4DBF, IDEOGRAPH), (0x4E00, 0x9FFF, IDEOGRAPH), (0xA000, 0xD7FF, LETTER),
        (0xF900, 0xFAFF, IDEOGRAPH), (0xFB00, 0xFDFF, LETTER), (0xFE70, 0xFEFE, LETTER),
        (0x10000, 0x1CFFF, LETTER), (0x1D000, 0x1F0FF, LETTER), (0x1F100, 0x1FAFF, SIGN),
        (0x20000, 0x3FFFF, IDEOGRAPH),
    ]


def _tables():
    fold = np.arange(0x110000, dtype=np.uint32)
    kind = np.zeros(0x110000, dtype=np.uint8)
    for first, last, what in _class_ranges():
        kind[first:last + 1] = what
    for sign in SIGNS:
        kind[ord(sign)] = SIGN
    fold[0x41:0x5B] += 32
    fold[0xC0:0xDF] += 32
    fold[0xD7] = 0xD7
    fold[0x100:0x138] |= 1
    fold[0x14A:0x178] |= 1
    fold[0x391:0x3AA] += 32
    fold[0x400:0x410] += 80
    fold[0x410:0x430] += 32
    fold[0x460:0x530] |= 1
    fold[0x1E00:0x1F00] |= 1
    full = np.arange(0xFF01, 0xFF5F)
    kind[full] = kind[full - 0xFEE0]
    fold[full] = fold[full - 0xFEE0]
    fold[0x30:0x3A] = 0x30
    fold[0xFF10:0xFF1A] = 0x30
    return fold, kind


FOLD, KIND = _tables()


def finish(h):
    """The last mix of a key; h is an array of uint64."""
    h = h ^ (h >> np.uint64(32))
    h = h * np.uint64(K_MIX)
    return h ^ (h >> np.uint64(29))


def symbols(data):
    """bytes -> (symbols, kinds), with single spaces between and one at each end."""
    text = data.decode("utf-8", errors="replace")
    code = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    kind = np.concatenate([[0], KIND[code], [0]]).astype(np.uint8)
    code = np.concatenate([[32], FOLD[code], [32]]).astype(np.uint64)
    keep = np.ones(len(kind), dtype=bool)
    keep[1:] = (kind[1:] != SPACE) | (kind[:-1] != SPACE)
    code, kind = code[keep], kind[keep]
    code[kind == SPACE] = 32
    return code, kind


def char_keys(code, kind):
    """Keys of the n-grams that end at each symbol; the long ones have a space only as first or last symbol."""
    out = []
    n = len(code)
    h = np.zeros(n, dtype=np.uint64)
    one_word = np.ones(n, dtype=bool)
    for size in range(1, min(n, CHAR_MAX) + 1):
        back = size - 1
        if size > 2:  # the symbol added before is an inner one now
            one_word[back:] &= kind[1:n - back + 1] != SPACE
        h[back:] = (h[back:] + code[:n - back] + np.uint64(1)) * np.uint64(K_CHAR)
        chosen = kind >= SIGN if size == 1 else np.arange(n) >= back
        if size > CHAR_ACROSS:
            chosen = chosen & one_word
        out.append(finish(h[chosen] + np.uint64(size)))
    return out


_words = {}


def word_hash(symbols_of_word):
    got = _words.get(symbols_of_word)
    if got is None:
        h = SEED_WORD
        for s in symbols_of_word:
            h = ((h ^ ord(s)) * K_WORD) & MASK
            h ^= h >> 32
        _words[symbols_of_word] = got = h
    return got


def word_keys(code, kind):
    """Keys of words, of two in a row, and of two with one between; ideographs part words for good."""
    line = "".join(chr(c) if k == LETTER else " " if k == SPACE else f" {chr(c)} " if k == SIGN else " \x00 "
                   for c, k in zip(code.tolist(), kind.tolist()))
    h = np.array([0 if w == "\x00" else word_hash(w) for w in line.split(" ") if w], dtype=np.uint64)
    real = h != 0
    pair = real[1:] & real[:-1]
    skip = real[2:] & real[:-2]
    return [finish(h[real]),
            finish((h[:-1] * np.uint64(K_CHAR) + h[1:] + np.uint64(SEED_PAIR))[pair]),
            finish((h[:-2] * np.uint64(K_WORD) + h[2:] + np.uint64(SEED_SKIP))[skip])]


def keys(data):
    """bytes -> sorted distinct uint64 keys."""
    code, kind = symbols(data)
    return np.unique(np.concatenate(char_keys(code, kind) + word_keys(code, kind)))
