"""NVIDIA Dynamo's real frontend over its own mocker workers, without etcd and NATS: discovery in files, KV events over
ZMQ. The workers compute nothing, but tokenize, cache blocks and answer as an engine does."""
import contextlib
import json
import signal
import time

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from conftest import ROOT, Process, free_ports, request

PYTHON = ROOT / "tests" / "dynamo" / ".venv" / "bin" / "python"
PATIENCE = 120
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% if thinking %}<think>{% endif %}{% endif %}")
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
          "num_hidden_layers": 2, "num_key_value_heads": 4, "intermediate_size": 128, "vocab_size": 32003,
          "max_position_embeddings": 8192, "eos_token_id": 32002, "bos_token_id": 32000, "hidden_act": "silu",
          "rms_norm_eps": 1e-5, "torch_dtype": "float32"}


def bytes_tokenizer():
    vocabulary = {letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    vocabulary.update({f"w{i}": i for i in range(256, 32000)})  # the mocker answers with tokens 1000 to 2000
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    return tokenizer


def make_model(folder, tokenizer=None, longest=8192):
    """A model's folder without weights: a tokenizer, of bytes by default, and a template that shows whether to think."""
    folder.mkdir()
    (tokenizer or bytes_tokenizer()).save(str(folder / "tokenizer.json"))
    for name, content in {"config": CONFIG | {"max_position_embeddings": longest}, "generation_config": {"eos_token_id": 32002, "bos_token_id": 32000},
                          "tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>",
                                               "bos_token": "<|endoftext|>", "model_max_length": longest,
                                               "chat_template": TEMPLATE}}.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


class Parts:
    """Processes of Dynamo that find each other in files of one folder."""

    def __init__(self, directory):
        self.directory, self.stack = directory, contextlib.ExitStack()
        self.environment = {"HF_HUB_OFFLINE": "1", "DYN_FILE_KV": str(directory / "store"), "DYN_TCP_RPC_HOST": "127.0.0.1",
                            "DYN_TCP_RESPONSE_STREAM_HOST": "127.0.0.1", "DYN_EVENT_PLANE_HOST": "127.0.0.1"}

    def start(self, module, *args):
        log = self.directory / f"{module}-{time.monotonic_ns()}.log"
        process = Process([PYTHON, "-m", module, *args, "--discovery-backend", "file"], log, self.environment)
        self.stack.callback(self.end, process)
        return process

    @staticmethod
    def end(process):
        """Their own way of ending after SIGTERM is not what is tested here."""
        process.sent.update((signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV))
        process.stop()

    @staticmethod
    def answers(port, name):
        with contextlib.suppress(OSError):
            body = {"model": name, "max_tokens": 1, "messages": [{"role": "user", "content": "ready?"}]}
            return request(port, "POST", "/v1/chat/completions", body).status == 200
        return False

    def wait(self, condition, processes):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, [p.output()[-2000:] for p in processes]
            time.sleep(0.2)

    def stop(self):
        self.stack.close()


class Dynamo(Parts):
    """`frontends` frontends with the KV router, and two workers for each of `names`."""

    def __init__(self, directory, names, frontends=1):
        super().__init__(directory)
        model = make_model(directory / "model")
        self.ports = [free_ports() for _ in range(frontends)]
        self.frontends = [self.start("dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", port, "--router-mode", "kv")
                          for port in self.ports]
        self.mockers = {name: self.start("dynamo.mocker", "--model-path", model, "--model-name", name, "--num-workers", 2,
                                         "--speedup-ratio", 10, "--block-size", 16) for name in names}
        try:
            for port in self.ports:
                self.wait(lambda: all(self.answers(port, name) for name in names), [*self.frontends, *self.mockers.values()])
        except BaseException:
            self.stop()
            raise

    def log(self):
        return "".join(frontend.output() for frontend in self.frontends)
