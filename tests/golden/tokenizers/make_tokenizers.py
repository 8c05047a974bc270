#!/usr/bin/env python3
"""Trains the small tokenizers of this folder with the `tokenizers` library (PyPI).

usage: make_tokenizers.py TEXTS.jsonl [NAME...]   (objects with `lang` and `text`; any collection in many languages
does; NAME: only these files)
One file per kind that models are published with; a few hundred to a few thousand entries each, so that words
fall apart into several tokens and every merge path is taken.
"""
import json
import pathlib
import sys
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "tools"))

from convert_e5 import charsmap  # noqa: E402: what the converter compiles
QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
        r"\s*[\r\n]+|\s+(?!\S)|\s+")
LLAMA = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)


def texts(path):
    docs = [json.loads(line)["text"][:12000] for line in open(path)]
    return docs[::3]


def bpe(docs, tokenizer, size, special, **options):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False, max_token_length=24,
                                  **options)
    tokenizer.train_from_iterator(docs, trainer)
    return tokenizer


def byte_level(docs, size, special):
    return dict(docs=docs, size=size, special=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def roberta(docs):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    bpe(tokenizer=t, **byte_level(docs, 2000, ["<s>", "<pad>", "</s>", "<unk>"]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    return t


def modernbert(docs):
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe(tokenizer=t, **byte_level(docs, 2200, ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]))
    t.add_special_tokens([AddedToken("[MASK]", lstrip=True)])
    t.add_tokens([AddedToken(" " * n, normalized=True) for n in range(2, 25)])
    t.add_tokens([AddedToken("|||IP_ADDRESS|||", normalized=True), AddedToken("é̂x", normalized=True)])
    t.add_tokens([AddedToken("[unused0]", normalized=False, single_word=True)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return t


def split_bytes(docs, regex, special, ending):
    t = Tokenizer(models.BPE(ignore_merges=regex == LLAMA))
    t.normalizer = normalizers.NFC() if regex == QWEN else None
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(regex), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    bpe(tokenizer=t, **byte_level(docs, 1800, special))
    single, ids = ("$A " + special[0], [(special[0], 0)]) if ending else (special[0] + " $A", [(special[0], 0)])
    t.post_processor = processors.Sequence([
        processors.ByteLevel(trim_offsets=not ending, add_prefix_space=False),
        processors.TemplateProcessing(single=single, special_tokens=ids)])
    return t


def bytes_and_pieces(docs, size):
    """The training set for byte fallback: few characters, so that many are left to bytes."""
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"] + [f"<0x{b:02X}>" for b in range(256)]
    return dict(docs=docs, size=size, special=specials, limit_alphabet=220)


def mmbert(docs):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    bpe(tokenizer=t, **bytes_and_pieces(docs, 2400))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.add_tokens([AddedToken(s, normalized=False) for s in ("\n", "\n\n", "\t", "<table>", "</td>", "▁▁")])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)])
    return t


def gemma(docs, whole):
    """`whole`: merges across words are learnt, so that a text is one word."""
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Replace(" ", "▁")
    t.pre_tokenizer = pre_tokenizers.Split("▁" if not whole else "\n", "merged_with_next" if not whole else "isolated")
    bpe(tokenizer=t, **bytes_and_pieces([d[:2000] for d in docs] if whole else docs, 2000))
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.add_tokens([AddedToken(s, normalized=False) for s in ("\n\n", "<b>", "[multimodal]")])
    t.post_processor = processors.TemplateProcessing(single="<bos> $A", special_tokens=[("<bos>", 2)])
    return t


def llama2(docs):
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=True)
    bpe(docs, t, 1200, ["<unk>", "<s>", "</s>"], limit_alphabet=150)
    t.pre_tokenizer = None
    t.add_special_tokens([AddedToken("<s>", rstrip=True, normalized=False)])
    return t


def mixture(docs):
    """Everything that the others do not have."""
    t = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", end_of_word_suffix="</w>"))
    t.normalizer = normalizers.Sequence([
        normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
        normalizers.Replace("ß", "ss"), normalizers.NFKC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False),
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Split("e", "merged_with_next"),
        pre_tokenizers.Split("a", "removed", invert=False)])
    bpe(docs, t, 1500, ["[UNK]", "[CLS]", "[SEP]"], limit_alphabet=200, continuing_subword_prefix="##",
        end_of_word_suffix="</w>")
    t.add_tokens([AddedToken("Öpen Source", single_word=True), AddedToken("ﬁx", lstrip=True, rstrip=True)])
    t.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    return t


def compiled():
    """A small map as SentencePiece compiles them: controls, spaces, compatibility characters, decomposed letters."""
    pairs = {chr(c): "" for c in (*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F)}
    pairs |= {c: " " for c in "\t\n\x0c\r\u00a0\u2028\u3000\u200b\u200c\u200d\ufeff\ufffd"}
    for c in (*range(0xA0, 0x180), *range(0x1E00, 0x1F00), *range(0xFB00, 0xFB07), *range(0x2100, 0x2170),
              *range(0xFF00, 0xFFF0), *range(0x3300, 0x3358), 0xE33, 0x958, 0x9DC, 0xFDFA):
        single, parts = unicodedata.normalize("NFKC", chr(c)), unicodedata.normalize("NFD", chr(c))
        if single != chr(c):
            pairs.setdefault(chr(c), single)
        if parts != chr(c) and unicodedata.normalize("NFC", parts) != parts:
            pairs.setdefault(parts, unicodedata.normalize("NFKC", parts))
    return normalizers.Precompiled(charsmap(pairs))


def unigram(docs, normalizer, pre_tokenizer, special=(), **options):
    specials = ["<s>", "<pad>", "</s>", "<unk>", *special]
    t = Tokenizer(models.Unigram())
    t.normalizer, t.pre_tokenizer = normalizer, pre_tokenizer
    t.train_from_iterator((d[:2000] for d in docs), trainers.UnigramTrainer(
        vocab_size=1800, special_tokens=specials, unk_token="<unk>", show_progress=False, shrinking_factor=0.5,
        initial_alphabet=[]))
    made = json.loads(t.to_str())
    made["model"]["vocab"] = [v for i, v in enumerate(made["model"]["vocab"])
                              if len(v[0]) > 1 or i < len(specials) or i % 5 or ord(v[0]) < 0x80]
    made["model"] |= options
    t = Tokenizer.from_str(json.dumps(made))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
    return t


def metaspace(scheme="always", split=True):
    return pre_tokenizers.Metaspace(replacement="▁", prepend_scheme=scheme, split=split)


def unigrams(docs):
    """As XLM-R's, as T5's and DeBERTa's, and whole texts as one word with byte fallback."""
    spaces = normalizers.Replace(Regex(" {2,}"), "▁")
    return {
        "unigram-xlmr": unigram(docs, compiled(), pre_tokenizers.Sequence([
            pre_tokenizers.WhitespaceSplit(), metaspace()])),
        "unigram-t5": unigram(docs, normalizers.Sequence([
            compiled(), normalizers.Strip(left=False, right=True), spaces]), metaspace()),
        "unigram-whole": unigram(docs, normalizers.Sequence([
            normalizers.NFC(), compiled(), normalizers.Replace(Regex(" {2,}"), " ")]), metaspace("first", False),
            special=[f"<0x{b:02X}>" for b in range(256)], byte_fallback=True)}


def tight(made):
    """As a guard's whose normalizer removes spaces, so that letters set apart are words again."""
    t = Tokenizer.from_str(made.to_str())
    t.normalizer = normalizers.Sequence([normalizers.Strip(), compiled(), normalizers.Replace(Regex(r"[\s▁]+"), ""),
                                         normalizers.Replace(Regex(r"[_*\-]{3,}"), "*"), normalizers.Replace(Regex("\\|"), " ")])
    return t


def deberta(docs):
    """As transformers converts DeBERTa-v3's: its own specials first, [MASK] behind the pieces."""
    specials = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.Strip(), compiled(), normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([metaspace()])
    t.train_from_iterator((d[:2000] for d in docs), trainers.UnigramTrainer(
        vocab_size=1500, special_tokens=specials, unk_token="[UNK]", show_progress=False, shrinking_factor=0.5,
        initial_alphabet=[]))
    made = json.loads(t.to_str())
    made["model"]["vocab"] = [v for i, v in enumerate(made["model"]["vocab"])
                              if len(v[0]) > 1 or i < len(specials) or i % 5 or ord(v[0]) < 0x80]
    t = Tokenizer.from_str(json.dumps(made))
    t.add_special_tokens([AddedToken("[MASK]", normalized=False)])
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return t


def cased_wordpiece(docs):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None,
                                              lowercase=False)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=2500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                        show_progress=False, limit_alphabet=400)
    t.train_from_iterator(docs, trainer)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def uncased_wordpiece(docs):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer()
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=2500, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                                        show_progress=False, limit_alphabet=500)
    t.train_from_iterator(docs, trainer)
    t.enable_truncation(128)
    t.enable_padding(length=128)
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t


def main():
    docs = texts(sys.argv[1])
    v3 = deberta(docs)
    made = {
        "bert-uncased": uncased_wordpiece(docs), "bert-cased": cased_wordpiece(docs), "roberta": roberta(docs),
        "modernbert": modernbert(docs), "qwen": split_bytes(docs, QWEN, ["<|endoftext|>", "<|im_start|>"], True),
        "llama3": split_bytes(docs, LLAMA, ["<|begin_of_text|>"], False), "mmbert": mmbert(docs),
        "gemma": gemma(docs, False), "gemma-whole": gemma(docs, True), "llama2": llama2(docs), "mixture": mixture(docs),
        "deberta-v3": v3, "deberta-tight": tight(v3), **unigrams(docs)}
    made = {name: tokenizer for name, tokenizer in made.items() if name in sys.argv[2:] or not sys.argv[2:]}
    for name, tokenizer in made.items():
        tokenizer.save(str(HERE / f"{name}.json"), pretty=False)


main()
