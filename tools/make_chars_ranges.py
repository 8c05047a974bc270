#!/usr/bin/env python3
"""Writes src/model/tokenizer/chars_ranges.h: the character classes as the `tokenizers` library (PyPI) sees them.

usage: make_chars_ranges.py OUT.h   (in an environment with `tokenizers`; minutes)
The library's parts were built against different versions of Unicode, so the classes are asked of the library
itself, code point by code point, instead of being taken from any one version. One probe per class; runs of
equal answers become ranges. Normal forms come from utf8proc; what it knows and the library does not, or the
other way round, is listed too.
"""
import ctypes
import ctypes.util
import sys
import unicodedata

from convert_e5 import charsmap
from tokenizers import Regex, __version__, normalizers as norm, pre_tokenizers as pre

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def ranges(members):
    out = []
    for c in sorted(members):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def pieces(pre_tokenizer, text):
    return len(pre_tokenizer.pre_tokenize_str(text))


def probes():
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    clean = norm.BertNormalizer(**{**bert, "clean_text": True})
    cjk = norm.BertNormalizer(**{**bert, "handle_chinese_chars": True})
    accents = norm.BertNormalizer(**{**bert, "strip_accents": True})
    nfd, marks = norm.NFD(), norm.StripAccents()
    split = {name: pre.Split(Regex(name), "removed") for name in (r"\p{L}", r"\p{N}", r"\s")}
    words, digits, punctuation = pre.Whitespace(), pre.Digits(individual_digits=True), pre.Punctuation()
    yield "space", lambda c: pieces(split[r"\s"], f"-{c}-") == 2
    yield "control", lambda c: clean.normalize_str(f"a{c}b") == "ab"
    yield "punctuation", lambda c: pieces(punctuation, f"a{c}b") == 3
    yield "cjk", lambda c: cjk.normalize_str(c) != c
    yield "word", lambda c: pieces(words, f"a{c}b") == 1
    yield "letter", lambda c: pieces(split[r"\p{L}"], f"-{c}-") == 2
    yield "number", lambda c: pieces(split[r"\p{N}"], f"-{c}-") == 2
    yield "numeric", lambda c: pieces(digits, f"a{c}b") == 3
    yield "mark", lambda c: marks.normalize_str(f"a{c}b") == "ab"
    yield "nonspacing", lambda c: nfd.normalize_str(c) == c and accents.normalize_str(c) == ""


class Utf8proc:
    def __init__(self):
        lib = self.lib = ctypes.CDLL(ctypes.util.find_library("utf8proc"))
        lib.utf8proc_version.restype = ctypes.c_char_p
        lib.utf8proc_tolower.restype = ctypes.c_int32
        self.version = lib.utf8proc_version().decode()

    def decompose(self, c, compat):
        buffer, boundary = (ctypes.c_int32 * 32)(), ctypes.c_int(0)
        n = self.lib.utf8proc_decompose_char(c, buffer, 32, 16 | (4 if compat else 0), ctypes.byref(boundary))
        return "".join(map(chr, buffer[:n]))

    def combines(self, c):
        # Behind a ring above (230) and a dot below (220) a mark of another class moves; of the same, the dot does.
        buffer = (ctypes.c_int32 * 3)(ord("a"), c, 0x334)
        n = self.lib.utf8proc_normalize_utf32(buffer, 3, 2)
        return n == 3 and buffer[1] == 0x334


def exceptions(u8):
    nfd, nfkd, lower = norm.NFD(), norm.NFKD(), norm.Lowercase()
    unknown, no_class, lowers = set(), set(), []
    for c in POINTS:
        s = chr(c)
        if nfd.normalize_str(s) != u8.decompose(c, False) or nfkd.normalize_str(s) != u8.decompose(c, True):
            assert nfkd.normalize_str(s) == s, hex(c)
            unknown.add(c)
        text = "a" + s + "\u0334"
        if unicodedata.category(s)[0] in "MC" and len(u8.decompose(c, False)) == 1:
            reordered = nfd.normalize_str(text) != text
            if reordered != (ordered_by(u8, text) != text):
                assert not reordered, hex(c)
                no_class.add(c)
        low = lower.normalize_str(s)
        if low != chr(u8.lib.utf8proc_tolower(c)):
            lowers.append((c, low))
    return unknown, no_class, lowers


def ordered_by(u8, text):
    u8.lib.utf8proc_map.restype = ctypes.c_ssize_t
    out = ctypes.c_void_p()
    data = text.encode()
    n = u8.lib.utf8proc_map(data, ctypes.c_ssize_t(len(data)), ctypes.byref(out), 16 | 2)
    result = ctypes.string_at(out, n).decode()
    ctypes.CDLL(None).free(out)
    return result


def clusters(u8):
    """Controls and extenders of user-perceived characters, which utf8proc does not know as such.

    A charsmap replaces a character of a few bytes as a whole by what its first code point stands for.
    """
    u8.lib.utf8proc_grapheme_break.restype = ctypes.c_bool
    whole = norm.Precompiled(charsmap({"\u200c": " ", "\u00aa": "a"}))
    control, extend = set(), set()
    for c in POINTS[1:]:
        apart = not whole.normalize_str(chr(c) + "\u200c\u0345").endswith("\u0345")
        if apart and not u8.lib.utf8proc_grapheme_break(c, 0x200C):
            control.add(c)
        joined = c < 0x10000 and whole.normalize_str("\u00aa" + chr(c)) == "a"
        if joined and u8.lib.utf8proc_grapheme_break(0xAA, c):
            extend.add(c)
    return control, extend


def table(name, rows):
    cells = [f"{{0x{a:X}, 0x{b:X}}}," for a, b in rows]
    print(f"static const struct sr_chars_range {name}_ranges[] = {{")
    line = "   "
    for cell in cells:
        if len(line) + len(cell) + 1 > 108:
            print(line)
            line = "   "
        line += " " + cell
    print(line + "\n};\n")


def main():
    u8 = Utf8proc()
    out = open(sys.argv[1], "w")
    sys.stdout = out
    print(f"/*\n * Generated by tools/make_chars_ranges.py from tokenizers {__version__} and utf8proc {u8.version}:"
          " do not edit.\n * Included once, by chars.c.\n */")
    print("/* clang-format off */\n#include <stdint.h>\n\nstruct sr_chars_range {\n    int32_t first, last;\n};\n")
    for name, probe in probes():
        table(name, ranges(c for c in POINTS if probe(chr(c))))
    unknown, no_class, lowers = exceptions(u8)
    print("/* Without a decomposition, without a combining class: assigned too late for the reference. */")
    table("atomic", ranges(unknown))
    table("classless", ranges(no_class))
    print("/* Lower case that utf8proc does not have; U+0130 gives two code points and is not here. */")
    table("lower_added", [(c, ord(low)) for c, low in lowers if len(low) == 1])
    control, extend = clusters(u8)
    print("/* Clusters: controls and extenders that utf8proc takes for other characters. */")
    table("cluster_control", ranges(control))
    table("cluster_extend", ranges(extend))
    print("/* clang-format on */")
    assert [c for c, low in lowers if len(low) != 1] == [0x130]


main()
