"""What the second reader says of texts, by the models of multilingual_guard.py that do not know a text's group.

Own log odds, as in Mixture.own: 0.7 is where harmless families that were left out raise a false alarm in 3 % of their texts. The built
binary reads, with a folder of heads for each group in --work, where answers are kept, too.
"""
import hashlib
import json
import os
import shutil

import numpy as np

import figures_common as common
import multilingual_adapters as adapters
import multilingual_guard as guard
import multilingual_heads as heads

STEP = 2000


class Second:
    """`models`: the folder that multilingual_guard.py --groups has filled."""

    def __init__(self, binary, models, work, data):
        self.binary, self.work = binary, work
        self.path = work / "second.json"
        self.known = json.loads(self.path.read_text()) if self.path.exists() else {}
        every, group = guard.rows(data)
        self.mixture = guard.Mixture(guard.Judged(every, guard.left_out(models, every, group, None, []), models))
        paths = {g: guard.files(models, g)[-1] for g in range(guard.mr.GROUPS)}
        self.models = {g: hashlib.sha256(path.read_bytes()).hexdigest()[:12] for g, path in paths.items() if path.exists()}
        self.folders = {g: self.folder(g, paths[g]) for g in self.models}

    def folder(self, group, path):
        """Models in which the multilingual trunk is the default encoder, with the heads of a group."""
        root = self.work / f"second{group}"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(heads.MODEL, root / heads.MODEL.name)
        (root / "all-MiniLM-L6-v2").symlink_to(heads.TRUNK)
        guard.ship(adapters.load(path, guard.CHOICES), self.mixture, root / heads.MODEL.name)
        return root

    def key(self, group, text):
        """By the model that is asked, so that answers of one before it are not taken for its own."""
        return f"{self.models.get(group)} {hashlib.sha256(text.encode()).hexdigest()[:24]}"

    def read(self, pairs):
        """Asks about (group, text) that are not known yet, of groups that are there."""
        for group, root in self.folders.items():
            texts = sorted({t for g, t in pairs if g == group and self.key(g, t) not in self.known}, key=len)
            os.environ["SEMROUTE_MODELS"] = str(root)
            for at in range(0, len(texts), STEP):
                some = texts[at:at + STEP]
                answers = common.classify(self.binary, "jailbreak", some, "neural", "--heads", root / heads.MODEL.name, "--precision", "int8", "--threads", "1")
                p = np.clip([a["score"] for a in answers], 1e-7, 1 - 1e-7)
                self.known.update((self.key(group, t), round(float(z), 4)) for t, z in zip(some, np.log(p / (1 - p))))
                self.path.write_text(json.dumps(self.known))
                print(f"second reader, group {group}: {at + len(some)} of {len(texts)}", flush=True)
            del os.environ["SEMROUTE_MODELS"]

    def odds(self, group, text):
        """nan: not asked."""
        return float(np.clip(self.known.get(self.key(group, text), np.nan), -guard.LIMIT, guard.LIMIT))
