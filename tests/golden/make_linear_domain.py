"""Writes linear_domain.jsonl: texts as hex, with the label and the logits that training/table.py gives them.

    training/.venv/bin/python tests/golden/make_linear_domain.py

Run it after training; tests/unit/model/test_linear.c holds src/model/linear.c to the file.
"""
import json
import pathlib
import random
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "training"))
import table  # noqa: E402

TEXTS = [
    "", " ", "a", "?!", "hi", "thanks, bye", "Hello! How are you today?",
    "Write a haiku about autumn leaves.", "What should I cook for dinner tonight?",
    "How do I reverse a linked list in Python?", "SELECT name FROM users WHERE id = 3;",
    "Why does my for loop never terminate? `for (i = 0; i < n; i--)`",
    "Prove that the square root of 2 is irrational.", "Integrate x^2 * sin(x) from 0 to pi.",
    "Solve for x: 3x + 7 = 22", "What is the derivative of ln(x)?", "Evaluate ∫ x² dx and ∑ 1/n².",
    "A ball is thrown upward at 20 m/s. How high does it go?", "Explain quantum entanglement to a child.",
    "Balance the equation: Fe + O2 -> Fe2O3", "What is the pH of 0.1 M hydrochloric acid?",
    "How do mitochondria produce ATP?", "Explain the difference between mitosis and meiosis.",
    "What are the symptoms of type 2 diabetes?", "Is ibuprofen safe together with blood pressure pills?",
    "Who won the Battle of Waterloo, and why?", "Describe the fall of the Western Roman Empire.",
    "What did Kant mean by the categorical imperative?", "Is it ever right to lie? Discuss utilitarianism.",
    "Can my landlord keep my deposit without a reason?", "What is consideration in contract law?",
    "How does inflation affect interest rates?", "Explain the Phillips curve.",
    "Write a marketing plan for a small bakery.", "How do I depreciate equipment on a balance sheet?",
    "What is cognitive dissonance?", "How does operant conditioning differ from classical conditioning?",
    "Design a beam that carries 5 kN over 3 metres.", "What does a low-pass filter do to a square wave?",
    "已知函数f(x)=x²+2x，求f(x)的最小值。", "光合作用的过程是什么？", "秦始皇统一六国的意义是什么？",
    "水的化学式是什么？", "一物体从静止开始做匀加速运动，求加速度。",
    "¿Cuál es la capital de Francia?", "¿Cómo funciona la fotosíntesis?", "Qu'est-ce que la loi de l'offre et de la demande ?",
    "Wie berechnet man die Ableitung einer Funktion?", "Was sind die Symptome einer Grippe?",
    "Что такое фотосинтез?", "Какова столица России?", "Τι είναι η φιλοσοφία;", "مرحبا، كيف حالك؟",
    "これは何ですか？量子力学を説明してください。", "파이썬에서 리스트를 뒤집는 방법", "ประเทศไทยมีเมืองหลวงชื่ออะไร",
    "ＦＵＬＬ ｗｉｄｔｈ １２３ ＋ ４", "ÀÉÎÕÜ àéîõü ÇÑ çñ × ÷ µ ª º ß ÿ Ÿ", "naïve café fiancée",
    "Ёжик и ёлка; Щука, ЯЗЬ", "🙂🙂 I ❤ maths 👩‍🔬", "x" * 300, "word " * 200, "=" * 50, "0123456789 1999 2024 3.14",
    "tab\tand\nnewline\r\nand\0nul", "a_b__c ___ (d) [e] {f} \\frac{1}{2} $x$ #tag @user 50% A&B",
    "It's the teacher's well-known \u201cquote\u201d \u2014 isn't it\u2026", "\u200bzero\u200dwidth\ufeff", "\U0001d400\U0001d401 \U00020000\U00020001",
]
BROKEN = [
    b"\xff", b"\x80abc", b"abc\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82(", b"\xe2(\xa1", b"\xf0\x9f\x99", b"\xf0(\x8c\xbc",
    b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"law\xc3\xc3\xa9tat",
    b"\xe4\xbd\xe4\xbd\xa0 physics", b"\xf0\x9f\xe4\xbd\xa0",
]


def generated(rng):
    words = sorted({w for t in TEXTS for w in t.split()})
    for _ in range(90):  # word salad
        yield " ".join(rng.choice(words) for _ in range(rng.randint(1, 60))).encode()
    for _ in range(70):  # any code points
        top = rng.choice([0x7F, 0x24F, 0x52F, 0xFFFF, 0x10FFFF])
        points = (rng.randint(0, top) for _ in range(rng.randint(1, 120)))
        yield "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000).encode()
    for _ in range(40):  # any bytes
        yield rng.randbytes(rng.randint(1, 80))
    for _ in range(40):  # good text, damaged
        text = bytearray(rng.choice(TEXTS).encode() or b"x")
        for _ in range(rng.randint(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(256)
        yield bytes(text)


def main():
    model, metadata = table.Model.load(ROOT / "models" / "domain-linear" / "model.safetensors")
    labels = metadata["labels"].split("|")
    lines = []
    for text in [t.encode() for t in TEXTS] + BROKEN + list(generated(random.Random(20261121))):
        logits = model.logits(text)
        line = {"hex": text.hex(), "label": labels[int(logits.argmax())], "logits": [float(f"{z:.10g}") for z in logits]}
        lines.append(json.dumps(line, separators=(",", ":")) + "\n")
    (ROOT / "tests" / "golden" / "linear_domain.jsonl").write_text("".join(lines))
    print(f"{len(lines)} texts")


if __name__ == "__main__":
    main()
