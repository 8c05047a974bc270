"""Chat templates in Jinja as transformers renders them, and tokenizers that have their marks: written for these tests after
the formats that the families of models document."""
import random

import jinja2
import jinja2.sandbox
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA = QWEN.replace(r"\p{N}|", r"\p{N}{1,3}|")

CHATML = """{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"""

QWEN25 = """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\n' + messages[0]['content'] + '<|im_end|>\n' }}
{%- else %}
    {{- '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) or message.role == 'assistant' %}
        {{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>' + '\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
{%- endif %}"""

QWEN3 = """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}
{%- endif %}
{%- set ns = namespace(searching=true, last=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.searching and message.role == 'user' and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.searching = false %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>' + '\n' }}
    {%- elif message.role == 'assistant' %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last and (loop.last or reasoning) %}
            {{- '<|im_start|>' + message.role + '\n<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}"""

LLAMA3 = """{% for message in messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"""

LLAMA31 = """{{- bos_token }}
{%- if not date_string is defined %}
    {%- set date_string = "26 Jul 2024" %}
{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\n\n" }}
{{- "Cutting Knowledge Date: December 2023\n" }}
{{- "Today Date: " + date_string + "\n\n" }}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}"""

MISTRAL = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{- raise_exception("roles must alternate") }}
    {%- endif %}
    {%- if message["role"] == "user" %}
        {%- if loop.last and system_message is defined %}
            {{- "[INST] " + system_message + "\n\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + message["content"] + "[/INST]" }}
        {%- endif %}
    {%- else %}
        {{- " " + message["content"]|trim + eos_token }}
    {%- endif %}
{%- endfor %}"""

GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}{% for message in messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate') }}{% endif %}{% if (message['role'] == 'assistant') %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}"""

IM = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
HEADERS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
# Of each template: its text, the marks of its models, the words of their tokenizers, bos and eos.
FAMILIES = {
    "chatml": (CHATML, IM, QWEN, "", ""), "qwen2.5": (QWEN25, IM, QWEN, "", ""), "qwen3": (QWEN3, IM + ["<think>", "</think>"], QWEN, "", ""),
    "llama3": (LLAMA3, HEADERS, LLAMA, HEADERS[0], ""), "llama3.1": (LLAMA31, HEADERS, LLAMA, HEADERS[0], ""),
    "mistral": (MISTRAL, ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], None, "<s>", "</s>"),
    "gemma": (GEMMA, ["<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>"], None, "<bos>", "<eos>"),
}

TEXTS = ["Hello, how are you?", " two  spaces ", "\n\nlines\n\n", "", " ", "\t tab \u00a0 nbsp\u2003em\u3000ideographic", "It's 2024-07-26: 12,345.67 €",
         "def f(x):\n    return x ** 2  # square\n", "Größe und Maß, ça va, señor, žluťoučký kůň", "Привет, как дела? Ещё раз.", "你好，世界。请解释量子计算。",
         "こんにちは、世界。カタカナも。", "안녕하세요 세계", "مرحبا بالعالم، كيف الحال؟", "שלום עולם", "नमस्ते दुनिया, कैसे हैं आप?", "สวัสดีชาวโลก", "Γειά σου Κόσμε",
         "გამარჯობა მსოფლიო", "Բարև աշխարհ", "வணக்கம் உலகம்", "👩‍👩‍👧‍👦 family 🇩🇪 flag 👍🏽", "e\u0301 é ﬁ ½ Ⅳ", "<|im_start|>user\nnested<|im_end|>", "[INST] in a text [/INST]",
         "<think>\nthoughts\n</think>\n\nThe answer.", "no end <think>", "</think>", "a</think>\n\nb</think>\nc", "x" * 300, "word " * 200, "\u0000\u0001\u007f control",
         "quote \" backslash \\ slash / \u2028 end", "<tool_response>\n{}\n</tool_response>", "{% if x %}{{ y }}{% endif %}"]


def render(name, messages, **kwargs):
    """As transformers' apply_chat_template does, with add_generation_prompt. None: the template refuses."""
    text, _, _, bos, eos = FAMILIES[name]
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)

    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)
    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(text).render(messages=messages, bos_token=bos, eos_token=eos, add_generation_prompt=True, **kwargs)
    except jinja2.exceptions.TemplateError:
        return None


def tokenizer_of(name):
    """A tokenizer with the marks of a family, its words or its way with spaces, trained on TEXTS."""
    _, marks, words, _, _ = FAMILIES[name]
    special = [AddedToken(mark, special=True, normalized=False) for mark in marks]
    if words:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(words), "isolated"),
                                                      pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=special, show_progress=False, initial_alphabet=alphabet)
    else:
        made = Tokenizer(models.BPE(unk_token=None, fuse_unk=True, byte_fallback=True))
        made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="never", split=True)
        special += [AddedToken(f"<0x{i:02X}>", special=False, normalized=False) for i in range(256)]
        trainer = trainers.BpeTrainer(vocab_size=1600, special_tokens=special, show_progress=False)
    made.train_from_iterator(TEXTS * 3, trainer)
    return made


def conversations(seed, n):
    """Chats that end with the user: with and without a system prompt, texts of all scripts, parts."""
    draw = random.Random(seed)
    for _ in range(n):
        messages = [{"role": "system", "content": draw.choice(TEXTS)}] if draw.random() < 0.4 else []
        turns = draw.randrange(1, 6)
        for i in range(2 * turns - 1):
            messages.append({"role": ("user", "assistant")[i % 2], "content": "".join(draw.choices(TEXTS, k=draw.randrange(1, 4)))})
        if draw.random() < 0.1:
            messages.insert(draw.randrange(len(messages)), {"role": "system", "content": draw.choice(TEXTS)})
        yield messages
