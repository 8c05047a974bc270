"""The tokens of prompts that the router computes itself: every chat template against Jinja and the library `tokenizers`, what
it leaves to the workers, and a pool that picks by them."""
import http.server
import json
import re
import struct
import threading
import time

import chat_templates
import msgpack
import pytest
import zmq
from conftest import free_ports, semroute
from test_picking import idle
from test_pools import until

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Of each template the path of a tokenizer.json, and the tokenizer."""
    folder = tmp_path_factory.mktemp("tokenizers")
    made = {}
    for name in chat_templates.FAMILIES:
        tokenizer = chat_templates.tokenizer_of(name)
        tokenizer.save(str(folder / f"{name}.json"))
        made[name] = (folder / f"{name}.json", tokenizer)
    return made


def tokenize(path, template, bodies):
    done = semroute("tokenize", "--tokenizer", path, *(["--chat-template", template] if template else []),
                    input="".join(json.dumps(body) + "\n" for body in bodies))
    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", chat_templates.FAMILIES)
def test_chats_have_the_tokens_of_their_template(files, name):
    path, tokenizer = files[name]
    bodies, wanted = [], []
    for number, messages in enumerate(chat_templates.conversations(7, 400)):
        kwargs = {"enable_thinking": number % 3 > 0} if number % 2 else {}
        text = chat_templates.render(name, messages, **kwargs)
        body = {"model": "m", "messages": messages}
        if number % 5 == 0:
            body["messages"] = [{**m, "content": [{"type": "text", "text": m["content"]}]} for m in messages]
        if number % 7 == 0:  # several parts are lines
            body["messages"] = body["messages"][:-1] + [{"role": "user", "content": [{"type": "text", "text": t} for t in ("a", "b ", "")]}]
            text = chat_templates.render(name, messages[:-1] + [{"role": "user", "content": "a\nb \n"}], **kwargs)
        if kwargs:
            body["chat_template_kwargs"] = kwargs
        bodies.append(body)
        wanted.append(None if text is None else tokenizer.encode(text, add_special_tokens=False).ids)
    got = tokenize(path, name, bodies)
    assert len(got) == len(wanted)
    wrong = [(body, want, have) for body, want, have in zip(bodies, wanted, got)
             if have.get("tokens") != want and "error" not in have]
    assert not wrong, (len(wrong), wrong[0])
    left = [body["messages"] for body, want, have in zip(bodies, wanted, got) if want is not None and "error" in have]
    # only a tool's result in the last message of a Qwen 3 chat, which has another meaning
    assert all(name == "qwen3" and "tool_response" in json.dumps(messages[-1]) for messages in left), left[:1]
    assert all("error" in have for want, have in zip(wanted, got) if want is None)
    assert sum(want is not None for want in wanted) > 150


@pytest.mark.parametrize("more", [
    {"tools": [TOOL]}, {"documents": [{"text": "x"}]}, {"chat_template": "{{ messages }}"}, {"chat_template_kwargs": {"date_string": "1 Jan 2025"}},
    {"add_generation_prompt": False}, {"continue_final_message": True}, {"add_special_tokens": True}, {"truncate_prompt_tokens": 5},
    {"messages": []}, {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]},
    {"messages": [{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}]},
    {"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "1", "content": "y"}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}]},
    {"messages": [{"role": "user", "content": [{"type": "text"}]}]}, {"messages": [{"role": "user"}]}, {"messages": [{"content": "x"}]},
    {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "tool_calls": [{"id": "1"}]}, {"role": "user", "content": "z"}]},
    {"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "reasoning_content": "z"}, {"role": "user", "content": "z"}]},
])
def test_what_the_template_cannot_express_is_refused(files, more):
    path, _ = files["qwen2.5"]
    plain = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    nothing = {"tools": None, "documents": [], "chat_template_kwargs": {}, "add_generation_prompt": True, "continue_final_message": False}
    good, bad = tokenize(path, "qwen2.5", [{**plain, **nothing}, {**plain, **more}])
    assert good["count"] > 5 and "error" in bad, bad


def test_completions_have_the_marks_of_the_tokenizer(files, tmp_path):
    from tokenizers.processors import TemplateProcessing
    _, tokenizer = files["llama3"]
    tokenizer = type(tokenizer).from_str(tokenizer.to_str())
    tokenizer.post_processor = TemplateProcessing(single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", 0)])
    tokenizer.save(str(tmp_path / "t.json"))
    texts = chat_templates.TEXTS
    got = tokenize(tmp_path / "t.json", "", [{"prompt": t} for t in texts] + [{"prompt": t, "add_special_tokens": False} for t in texts])
    wanted = [tokenizer.encode(t, add_special_tokens=special).ids for special in (True, False) for t in texts]
    assert [row["tokens"] for row in got] == wanted
    numbers, list_of_texts, chat = tokenize(tmp_path / "t.json", "", [{"prompt": [1, 2, 70000]}, {"prompt": ["a", "b"]},
                                                                     {"messages": [{"role": "user", "content": "x"}]}])
    assert numbers["tokens"] == [1, 2, 70000] and "error" in list_of_texts and "error" in chat


def test_mistakes_are_named(files, tmp_path):
    path, _ = files["qwen2.5"]
    for template, code in (("llama3", 1), ("qwen2.5", 0)):
        pool = {"model": "m", "policy": "kv", "kv_events": {"endpoint": "tcp://{host}:1", "tokenizer": str(path), "chat_template": template}}
        config = {"version": "v0.3", "providers": {"models": [{"name": "m", "backend_refs": [{"endpoint": "127.0.0.1:1"}]}],
                                                   "defaults": {"default_model": "m"}}, "global": {"semroute": {"pools": [pool]}}}
        (tmp_path / "c.yaml").write_text(json.dumps(config))
        done = semroute("check", tmp_path / "c.yaml")
        assert done.returncode == code and ("is no token" in done.stdout + done.stderr) == bool(code), done
    done = semroute("tokenize", "--tokenizer", path, "--chat-template", "llama3", input="")
    assert done.returncode == 3 and "its mark `<|begin_of_text|>` is no token" in done.stderr
    assert semroute("tokenize", "--tokenizer", path, "--chat-template", "alpaca", input="").returncode == 2
    assert semroute("tokenize", input="").returncode == 2
    assert semroute("tokenize", "--tokenizer", "/nothing", input="").returncode == 3
    assert tokenize(path, "qwen2.5", [{"x": 1}])[0].keys() == {"error"}


class Engine:
    """A worker as vLLM is one: answers chats, tells its tokens, and publishes blocks that the test names."""

    def __init__(self, tokenizer, template, port, events):
        engine, self.tokenized, self.asked, self.sequence = self, [], [], 0
        self.tokenizer, self.template = tokenizer, template

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.path == "/tokenize":
                    engine.tokenized.append(json.loads(body))
                    ids = engine.ids(json.loads(body)["messages"])
                    answer = {"count": len(ids), "max_model_len": 4096, "tokens": ids}
                else:
                    engine.asked.append(json.loads(body))
                    answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [
                        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "fine"}}]}
                answer = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.port, self.events = port, events
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        self.socket = zmq.Context.instance().socket(zmq.PUB)
        self.socket.bind(f"tcp://127.0.0.1:{events}")

    def ids(self, messages):
        return self.tokenizer.encode(chat_templates.render(self.template, messages), add_special_tokens=False).ids

    def publish(self, events):
        payload = msgpack.packb([time.time(), events, 0])
        self.socket.send_multipart([b"", struct.pack(">q", self.sequence), payload])
        self.sequence += 1

    def stored(self, messages, lora=None, salt=None, size=16):
        """The blocks of this chat are in the cache, in one event: with names as vLLM tells them."""
        ids = self.ids(messages)
        n = len(ids) // size
        keys = [([lora] if lora else []) + ([salt] if salt and i == 0 else []) for i in range(n)]
        self.publish([["BlockStored", [hash((tuple(ids), lora, salt, i)) & (2**63 - 1) for i in range(n)], None, ids[:n * size], size,
                       7 if lora else None, "GPU", lora, [k or None for k in keys]]])

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.socket.close(0)


@pytest.fixture
def engines(files):
    ports = free_ports(6)  # one pattern names the events of all: each is as far from its worker's port as the others
    made = [Engine(files["qwen2.5"][1], "qwen2.5", ports + i, ports + 3 + i) for i in range(3)]
    yield made
    for engine in made:
        engine.stop()


def talk(text):
    return [{"role": "user", "content": text}]


def site(engines, path, **keys):
    refs = [{"name": f"w{i}", "endpoint": f"127.0.0.1:{e.port}"} for i, e in enumerate(engines)]
    events = f"tcp://{{host}}:{{port{engines[0].events - engines[0].port:+}}}"
    decision = {"name": "adapted", "priority": 1, "modelRefs": [{"model": "m", "lora_name": "law"}],
                "rules": {"type": "keyword", "name": "court"}}
    pool = {"model": "m", "policy": "kv",
            "kv_events": {"endpoint": events, "tokenizer": str(path), "chat_template": "qwen2.5", "wait": "10s", **keys}}
    return {"version": "v0.3",
            "providers": {"defaults": {"default_model": "m"}, "models": [{"name": "m", "backend_refs": refs}]},
            "routing": {"modelCards": [{"name": "m", "loras": [{"name": "law"}]}],
                        "signals": {"keywords": [{"name": "court", "keywords": ["court"]}]}, "decisions": [decision]},
            "global": {"semroute": {"loops": 1, "pools": [pool]}}}


class Site:
    """A gateway before engines whose events' ports are as far from their own as the first one's."""

    def __init__(self, start, engines, path, **keys):
        self.engines = engines
        self.gateway = start.gateway(json.dumps(site(engines, path, **keys)))
        until(lambda: len(re.findall(r"^semroute_pool_kv_connected\{.*\} 1$", self.gateway.metrics(), re.M)) == len(engines))

    def tell(self, worker, messages, **more):
        """A subscription may come after its connection, so it is said until it was heard."""
        port = self.engines[worker].port
        def known():
            found = re.search(rf'^semroute_pool_known_blocks\{{pool="m",worker="http://127.0.0.1:{port}"\}} (\d+)', self.gateway.metrics(), re.M)
            return int(found[1]) if found else 0
        before = known()
        until(lambda: [self.engines[worker].stored(messages, **more), known() > before][1])

    def ask(self, messages, model="m", **more):
        answer = self.gateway.post({"model": model, "messages": messages, "max_tokens": 2, **more}, headers={"x-vsr-debug": "true"})
        assert answer.status == 200, answer
        until(lambda: idle(self.gateway))  # else the next request may see this one in flight
        overlap = re.search(r"overlap=(\d+)/", answer.headers["x-vsr-worker-reason"])
        return int(answer.headers["x-vsr-worker"][1:]), int(overlap[1])

    def tokenized(self, by):
        found = re.search(rf'^semroute_pool_tokenized_total\{{by="{by}"\}} (\d+)', self.gateway.metrics(), re.M)
        return int(found[1]) if found else 0


@pytest.mark.parametrize("words", [200, 8000])  # on the loop, and on a worker thread
def test_a_pool_picks_by_its_own_tokenizer(start, files, engines, words):
    site = Site(start, engines, files["qwen2.5"][0])
    texts = [" ".join(f"{name}{i:04}" for i in range(words)) for name in ("alpha", "beta", "gamma")]
    for worker, text in ((2, texts[0]), (0, texts[1]), (1, texts[2])):
        site.tell(worker, talk(text))
    for worker, text in ((2, texts[0]), (0, texts[1]), (1, texts[2])):
        picked, overlap = site.ask(talk(text))
        assert picked == worker and overlap > 10
    assert not any(engine.tokenized for engine in engines)
    until(lambda: site.tokenized("router") >= 3)


def test_what_it_cannot_express_goes_to_a_worker(start, files, engines):
    site = Site(start, engines, files["qwen2.5"][0])
    text = " ".join(f"word{i:04}" for i in range(200))
    site.tell(1, talk(text))
    site.ask(talk(text), tools=[TOOL])
    assert sum(len(engine.tokenized) for engine in engines) == 1
    until(lambda: site.tokenized("worker") == 1)
    picked, overlap = site.ask(talk(text))  # other bytes, as it has no tools
    assert picked == 1 and overlap > 10


def test_without_a_worker_to_ask_it_is_estimated(start, files, engines):
    site = Site(start, engines, files["qwen2.5"][0], tokenize="off")
    text = " ".join(f"word{i:04}" for i in range(200))
    site.tell(1, talk(text))
    assert site.ask(talk(text))[0] == 1
    site.ask(talk(text), tools=[TOOL])
    assert not any(engine.tokenized for engine in engines)
    until(lambda: site.tokenized("none") == 1)


def test_salts_and_adapters_have_blocks_of_their_own(start, files, engines):
    site = Site(start, engines, files["qwen2.5"][0])
    text = "the court said " + " ".join(f"word{i:04}" for i in range(200))
    plain, salted, adapted = talk("x" + text), talk(text), talk(text)
    site.tell(0, plain)
    site.tell(1, salted, salt="s1")
    site.tell(2, adapted, lora="law")
    assert site.ask(salted, cache_salt="s1")[0] == 1 and site.ask(salted, cache_salt="s1")[1] > 10
    assert site.ask(salted, cache_salt="s2")[1] == 0
    assert site.ask(salted)[1] <= 2  # the template's own words, which the plain chat has
    picked, overlap = site.ask(adapted, model="auto")  # the decision adds the adapter
    assert picked == 2 and overlap > 10
    assert site.ask(plain)[0] == 0 and site.ask(plain)[1] > 10
