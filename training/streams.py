"""What the neural classifier is trained on: one endless stream of batches per task, each epoch a function of (seed, epoch) alone, so
that a run can stop anywhere and go on. A batch is texts of one task and of similar length."""
import collections
import random

import numpy as np

import trunk

# ids: with [CLS] and [SEP]; target: a label, or one label per token (-100: not judged); weight: in the loss
Example = collections.namedtuple("Example", "ids target weight")


class Stream:
    """`epoch(rng)` lists an epoch's examples; batches hold about `tokens` tokens, padding included."""

    def __init__(self, name, epoch, seed, tokens):
        self.name, self.epoch, self.seed, self.tokens = name, epoch, seed, tokens
        self.number, self.at, self.batches = -1, 0, []

    def _begin(self, number):
        rng = random.Random(f"{self.seed} {self.name} {number}")
        examples = self.epoch(rng)
        rng.shuffle(examples)
        self.batches = []
        for k in range(0, len(examples), 1500):  # sorted by length within pools, so that lengths still vary over time
            pool = sorted(examples[k:k + 1500], key=lambda e: len(e.ids))
            batch = []
            for e in pool:
                if batch and (len(batch) + 1) * max(len(e.ids), len(batch[-1].ids)) > self.tokens:
                    self.batches.append(batch)
                    batch = []
                batch.append(e)
            self.batches.append(batch)
        rng.shuffle(self.batches)
        self.number, self.at = number, 0

    def next(self):
        if self.at >= len(self.batches):
            self._begin(self.number + 1)
        self.at += 1
        return self.batches[self.at - 1]

    def state(self):
        return self.number, self.at

    def seek(self, state):
        if state[0] >= 0:
            self._begin(state[0])
        self.at = state[1]


def pad(batch):
    """ids and real [texts, tokens], and the targets: [texts] or [texts, tokens]."""
    width = max(len(e.ids) for e in batch)
    ids = np.zeros((len(batch), width), np.int64)
    real = np.zeros((len(batch), width), np.float32)
    per_token = hasattr(batch[0].target, "__len__")
    target = np.full((len(batch), width) if per_token else len(batch), -100, np.int64)
    for i, e in enumerate(batch):
        ids[i, :len(e.ids)], real[i, :len(e.ids)] = e.ids, 1
        if per_token:
            target[i, :len(e.ids)] = e.target
        else:
            target[i] = e.target
    return ids, real, target, np.array([e.weight for e in batch], np.float32)


def typed(text, rng):
    """The text as somebody might type it: other casing, dropped or swapped letters, no final sign."""
    kind = rng.random()
    if kind < 0.25:
        text = text.rstrip(" .?!。？")
    elif kind < 0.75:
        letters = list(text)
        for _ in range(1 + len(letters) // 60):
            i = rng.randrange(max(len(letters) - 1, 1))
            if len(letters) > 8 and letters[i].isalpha() and letters[i + 1].isalpha():
                if rng.random() < 0.5:
                    letters[i], letters[i + 1] = letters[i + 1], letters[i]
                else:
                    del letters[i]
        text = "".join(letters)
    return text


def cut(ids, rng, most):
    """At most `most` tokens: mostly the beginning, else from anywhere."""
    if len(ids) <= most:
        return ids
    at = 0 if rng.random() < 0.6 else rng.randrange(len(ids) - most + 1)
    return ids[at:at + most]
