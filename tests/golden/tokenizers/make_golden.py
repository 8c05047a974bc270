#!/usr/bin/env python3
"""Writes NAME.golden.jsonl beside each NAME.json of this folder: what the `tokenizers` library makes of inputs.

usage: make_golden.py TEXTS.jsonl [NAME...]   (objects with `lang` and `text`; NAME: only these files)
Each line: {"text": hex of the bytes, "ids": [...], "starts": [...], "ends": [...]}, template included, offsets in
bytes of the input. The library counts characters of a decoded text; input that is no UTF-8 is decoded with
errors="replace", and an offset is where the bytes of that character begin or end.
"""
import codecs
import json
import pathlib
import random
import sys
import unicodedata

from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
NASTY = [
    "", " ", "  ", "\t", "\n\n\n", "\r\n", " \n ", "a", " a", "a ", "  a  b   ", "\u00a0x\u3000y\u2028z\x85",
    "a\x0bb\x0cc\x1cd\x00e\x7ff", "zero\u200bwidth\u200djoin\ufeffbom\u00adsoft", "▁a ▁ b▁▁", "Ġthe Ċ", "##ing ##",
    "😀 👨‍👩‍👧‍👦🏳️‍🌈 👍🏽", "🇩🇪☕️❤️1️⃣", "if(x<=0){return a[i]&~b;} //\t!", "https://example.com/a?b=c&d=%20#e",
    "don't we'll I'M they'RE x'ſ 'S 're", '{"k":[1,2.5e-3,null],"\\u00e9":"\\n"}', "3.14159 1,000,000 ١٢٣ ½ Ⅷ 12345678",
    "foo_bar.baz::<T>() snake__case", "<s></s><div><table></td>", "[CLS] [MASK]  [MASK] [unused0] x[unused0]", "<mask>  <mask>x <bos>",
    "|||IP_ADDRESS||| é̂x e\u0301\u0302x", "Öpen Source öpen sourcely O\u0308PEN SOURCE", "a ﬁx  fix b fixed", "<|endoftext|>hi<|im_start|>",
    "Ｆｕｌｌｗｉｄｔｈ ﾊﾟｶﾞ ﬁ ﬃ ㎏ ①", "Ǆ ǅ İı ẞß ΑΣ ς Å Å", "한국어 각 한글", "日本語のテスト。漢字㐀𠀀", "ไทยภาษา", "हिन्दी क़ ड़",
    "عربي مَرْحَبًا", "Tiếng Việt ệ ệ ở", "x\u0300\u0323\u0334 \u0344 \u0f73\u0f71 a\u0315\u0300\u05ae\u0327b", "\u0301lone", "שלום",
    "a" * 101, "é" * 41, "ab" * 60, "!" * 30, "1" * 30, " " * 30, "\u1100\u1161\u11a8 \u09c7\u09be \u0b47\u0b56", "\u09fe\u1cf2 \U00011938",
    "ᏸ Ა Ⴀ Ꙁ 𞤀 𐐀", "\ue000\U000f0000\U0010ffff", "\U0001d15e \U0002f800 \uf900", "e\u0301" * 12,
]
BROKEN = [b"\xff", b"a\x80b", b"\xe2\x82", b"\xe2\x82x", b"\xf0\x9f\x98", b"\xf0\x9f\x98 \xf0\x9f", b"\xed\xa0\x80", b"\xc0\xaf",
          b"\xf4\x90\x80\x80", b"ok \xc3\x28 \xc3\xa9 \xc3", b"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf", b"\xef\xbf\xbd\xef\xbf", b"\x80" * 7]
BLOCKS = [(0x80, 0x250), (0x250, 0x530), (0x530, 0x1100), (0x1100, 0x2000), (0x2000, 0x2E80), (0x2E80, 0xD800),
          (0xF900, 0x10000), (0x10000, 0x20000), (0x20000, 0x32000), (0xE0000, 0xE0200), (0xE000, 0x110000)]


def inputs(path):
    rng = random.Random(7)
    docs = {}
    for line in open(path):
        doc = json.loads(line)
        docs.setdefault(doc["lang"], doc["text"])
    out = [s.encode() for s in NASTY] + BROKEN
    for i, lang in enumerate(sorted(docs)):
        at = rng.randrange(len(docs[lang]) - 80)
        out.append(docs[lang][at:at + 48].encode())
        form = ("NFC", "NFD", "NFKC", "NFKD")[i % 4]
        out.append(unicodedata.normalize(form, docs[lang][at + 48:at + 72]).encode())
    for low, high in BLOCKS * 4:
        out.append("".join(chr(rng.randrange(low, high)) for _ in range(rng.randrange(1, 9))).encode())
    for _ in range(20):
        text = bytearray(rng.choice(out[70:])[:40] + b"-")
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        out.append(bytes(text))
    return out


def decode(data):
    """The text, and where each character begins in the bytes (and the end)."""
    spans = []
    codecs.register_error("note", lambda e: (spans.append((e.start, e.end)), ("\ufffd", e.end))[1])
    text, starts, at = data.decode("utf-8", "note"), [], 0
    for c in text:
        starts.append(at)
        at = spans.pop(0)[1] if spans and spans[0][0] == at else at + len(c.encode())
    return text, starts + [at]


def main():
    texts = inputs(sys.argv[1])
    for path in sorted(HERE.glob("*.json")):
        if sys.argv[2:] and path.stem not in sys.argv[2:]:
            continue
        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        with open(path.with_suffix(".golden.jsonl"), "w") as out:
            for data in texts:
                text, starts = decode(data)
                e = tokenizer.encode(text)
                row = {"text": data.hex(), "ids": e.ids, "starts": [starts[a] if a < len(starts) else a for a, _ in e.offsets],
                       "ends": [starts[b] if b < len(starts) else b for _, b in e.offsets]}
                print(json.dumps(row, separators=(",", ":")), file=out)


main()
