"""The neural's jailbreak examples: the rows of jailbreak_data, a sample of the harmless ones each epoch, and newly made ones."""
import attacks
import jailbreak_data as jd
from streams import Example, cut, typed
import trunk

MOST, WINDOW, WINDOWS = 128, 252, 0.35    # tokens of a text; of a share of them, as many as a window holds; a planted instruction is kept inside
PER_EPOCH = {"composed-injections": 500, "benign-prompts": 815, "benign-real-users": 1316, "jailbreak-bipia": 60, "factcheck-weak": 220, "intent-clinc150": 160,
             "intent-banking77": 100, "tools-metatool": 220, "domain-mmlu-pro": 200, "domain-mmlu": 120, "domain-longfact": 120, "domain-gaokao-zh": 60,
             "pii-ner-tweets": 120, "requests": 350, "pii-presidio": 60, "routing-gsm8k": 30, "feedback-weak-nlupp": 60, "korean-questions": 50, "chat-agent-taubench": 240,
             "chat-rag-bills": 120, "chat-rag-opensourceguide": 225, "longdocs": 225}
MADE = {"attacks": 1800, "lookalikes": 3000, "planted": 450, "carriers": 550, "surrounded": 900, "mixed": 2200}
WEIGHT = {"jailbreak-inthewild": 2.5, "gptfuzz": 2.5, "composed-injections": 0.6, "jailbreak-bipia": 0.3, "benign-prompts": 2.0, "benign-real-users": 2.0, "longdocs": 2.0,
          "chat-rag-opensourceguide": 2.0, "adaptive-attacks": 2.0, "jailbreak-short": 2.0, "llmguard-tests": 2.0, "written-attacks": 1.2, "written-lookalikes": 1.5}


def load(root):
    """(rows, harmful, inputs, held); nothing made is among the rows."""
    rows, harmful, inputs = jd.load(root, {k: 0 for k in jd.MADE})
    return rows, harmful, inputs, [jd.held(r) for r in rows]


documents = jd.documents


def chosen(rows, rng):
    by_source = {}
    for r in rows:
        by_source.setdefault(r.source, []).append(r)
    for source, mine in by_source.items():
        yield from rng.sample(mine, min(len(mine), PER_EPOCH.get(source, len(mine))))


def epoch(rows, held, tok, root, keep=lambda row: True):
    """A function for streams.Stream."""
    real = [r for r, out in zip(rows, held) if not out and keep(r)]
    texts_of = {r.group for r in real}
    harmful, documents = jd.load(root, {k: 0 for k in jd.MADE})[1], jd.documents(root)

    def examples(rng):
        picked = list(chosen(real, rng))
        picked = [r for r in picked if not r.source.startswith("written")] + [r for r in jd.written_rows(rng) if r.group in texts_of]
        made = jd.make(real, harmful, documents, MADE, rng.random())
        out = []
        texts = [typed(r.text, rng) if rng.random() < 0.1 else r.text for r in picked + made]
        for (ids, _), r in zip(trunk.encode(tok, texts), picked + made):
            whole = r.kind in ("indirect_injection", "mixed") or r.source == "jailbreak-bipia"
            ids = cut(ids, rng, WINDOW if whole or rng.random() < WINDOWS else MOST)
            out.append(Example(trunk.wrap(ids), r.label, WEIGHT.get(r.source, 1.0)))
        return out

    return examples
