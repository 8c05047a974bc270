"""The neural's domain examples: the questions of the domain model's rows, as they are, in chat frames, with their answer
options, misspelt, or beside an opening line; and requests made anew for each epoch."""
import pathlib

import data
from streams import Example, cut, typed
import trunk
import written

HELD = 0.08          # of the near-duplicate clusters: kept out of training, for temperature and for the mixing of tiers
MOST = 190           # tokens of a text
WEIGHT = {"longfact": 2.0, "exemplars": 2.0, "written": 2.0}
WRITTEN = pathlib.Path(__file__).resolve().parent / "domain_written.txt"
MADE = 2600          # made requests of an epoch, less those of held groups
OPENINGS = ["Please answer: ", "Question: ", "Q: ", "Answer the following question. ", "Hi! ", "hey, ",
            "Hello, I have a question. ", "Solve this. ", "The following is a multiple choice question. ",
            "Think step by step. ", "I need help with my homework: ", "can you help me? "]


def load(root):
    """(rows, inputs, held): held marks the rows that training does not see."""
    rows, inputs = data.load(root)
    held = [kept_out(rows[i]) for i in data.clusters(rows)]
    extra = written_rows()
    return rows + extra, inputs + written.inputs([WRITTEN]), held + [False] * len(extra)


def written_rows():
    """Questions written one by one, a category and a text a line."""
    lines = [line.split("\t", 1) for line in WRITTEN.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [data.Row("written", text.replace("\\n", "\n"), data.LABELS.index(label), [], "written") for label, text in lines]


def kept_out(row):
    """The name is that of the run that made models/neural: another one keeps out other rows, which the shipped classifier knows."""
    return data.chance(data.key(row), "judge held") < HELD


def variant(row, rng):
    """The row's question in one of its forms."""
    text, dice = row.text, rng.random()
    if row.options and dice < 0.25:
        shown = rng.sample(row.options, len(row.options))[:rng.randint(2, 10)]
        if rng.random() < 0.5:
            return text + "\n" + "\n".join(f"{chr(65 + i)}. {o}" for i, o in enumerate(shown))
        return text + " " + " / ".join(shown)
    if row.options and dice < 0.30:
        return " . ".join(row.options)
    if dice < 0.45:
        return rng.choice(data.FRAMES).replace("{}", text)
    if dice < 0.53:
        return rng.choice(OPENINGS) + text
    if dice < 0.65:
        return typed(text, rng)
    return text


def epoch(rows, held, tok, keep=lambda row: True):
    """A function for streams.Stream. `keep` leaves collections out."""
    chosen = [r for r, out in zip(rows, held) if not out and keep(r) and r.source != data.MADE]

    def examples(rng):
        made = [r for r in data.made(rng, round(MADE / (1 - HELD))) if not kept_out(r) and keep(r)]
        texts = [variant(r, rng) for r in chosen]
        texts += [typed(r.text, rng) if rng.random() < 0.15 else r.text for r in made]
        return [Example(trunk.wrap(cut(ids, rng, MOST)), r.label, WEIGHT.get(r.source, 1.0))
                for (ids, _), r in zip(trunk.encode(tok, texts), chosen + made)]

    return examples
