#!/usr/bin/env python3
"""Vectors of multilingual-e5-small for a few texts, computed by numpy from e5-small-q4.bin itself.

usage: make_multilingual.py e5-small-q4.bin FOLDER   (numpy, tokenizers; writes multilingual.json)
FOLDER is what tools/convert_e5.py made: its tokenizer.json is read, nothing else. Reference for
tests/integration/test_multilingual.py.
"""
import json
import math
import pathlib
import sys

import numpy as np
from tokenizers import Tokenizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "tools"))
from convert_e5 import read  # noqa: E402

TEXTS = [
    "How do I reset my password?", "Wie setze ich mein Passwort zurück?", "¿Cómo restablezco mi contraseña?",
    "Comment réinitialiser mon mot de passe ?", "我怎么重置密码？", "パスワードを再設定するには？", "비밀번호를 어떻게 재설정하나요?",
    "Как сбросить пароль?", "كيف أعيد تعيين كلمة المرور؟", "मैं अपना पासवर्ड कैसे रीसेट करूँ?", "ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร",
    "Làm thế nào để đặt lại mật khẩu?", "Şifremi nasıl sıfırlarım?", "Πώς επαναφέρω τον κωδικό μου;", "איך מאפסים סיסמה?",
    "আমি কীভাবে পাসওয়ার্ড রিসেট করব?", "Miten vaihdan salasanani?", "Jak zresetować hasło?", "Hur återställer jag mitt lösenord?",
    "Nulstil adgangskoden, tak.", "Il tempo domani sarà bello.", "東京の天気は明日晴れるでしょう。", "for (int i = 0; i < n; i++) s += a[i];",
    "e\u0301te\u0301 \uff26\uff55\uff4c\uff4c \u2460 👍🏽", "",
]


class Model:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        self.sizes, _, _, self.tensors = read(self.data)

    def __getitem__(self, name):
        kind, offset, size = self.tensors[name]
        raw = np.frombuffer(self.data, np.uint8, size, offset)
        if kind == 0:
            return raw.view("<f4")
        blocks = raw.reshape(-1, 18)
        step = blocks[:, :2].copy().view("<f2").astype(np.float32)
        low, high = blocks[:, 2:] & 15, blocks[:, 2:] >> 4
        return (np.concatenate([low, high], 1).astype(np.float32) - 8) * step

    def rows(self, name, columns):
        return self[name].reshape(-1, columns)

    def linear(self, x, name):
        return x @ self.rows(name + ".w", x.shape[1]).T + self[name + ".b"]

    def norm(self, x, name):
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(1, keepdims=True) + 1e-12) * self[name + ".w"] + self[name + ".b"]

    def vector(self, ids):
        hidden, heads = self.sizes["hidden"], self.sizes["heads"]
        d, n = hidden // heads, len(ids)
        x = self.words[ids] + self.rows("emb.pos", hidden)[:n] + self.rows("emb.type", hidden)[0]
        x = self.norm(x, "emb.ln")
        for i in range(self.sizes["layers"]):
            q, k, v = (self.linear(x, f"l{i}.{c}").reshape(n, heads, d).transpose(1, 0, 2) for c in "qkv")
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(d)
            weights = np.exp(scores - scores.max(2, keepdims=True))
            weights /= weights.sum(2, keepdims=True)
            x = self.norm(x + self.linear((weights @ v).transpose(1, 0, 2).reshape(n, hidden), f"l{i}.ao"), f"l{i}.aln")
            wide = self.linear(x, f"l{i}.fi")
            wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
            x = self.norm(x + self.linear(wide, f"l{i}.fo"), f"l{i}.oln")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def main():
    model = Model(sys.argv[1])
    model.words = model.rows("emb.word", model.sizes["hidden"])
    tokenizer = Tokenizer.from_file(str(pathlib.Path(sys.argv[2]) / "tokenizer.json"))
    out = [{"text": text, "ids": (ids := tokenizer.encode(text).ids), "vector": [round(float(v), 5) for v in model.vector(ids)]}
           for text in TEXTS]
    path = pathlib.Path(__file__).resolve().parent / "multilingual.json"
    path.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in out) + "\n]\n")


if __name__ == "__main__":
    main()
