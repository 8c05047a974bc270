"""The official openai client and curl against the gateway: plain, streaming, tools, parts, extras, large prompts."""
import json
import subprocess

import openai
import pytest
from conftest import builtin_on, chat, request


@pytest.fixture
def client(default_site):
    gateway, _ = default_site
    return openai.OpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key="sk-test", max_retries=0)


MATH = "Let f be continuous on [0,1]. Prove that the integral of f squared is at least the square of the integral of f."


def test_plain(client):
    answer = client.chat.completions.with_raw_response.create(
        model="auto", messages=[{"role": "user", "content": MATH}])
    assert answer.headers["x-vsr-selected-model"] == "reasoner"
    assert answer.headers["x-vsr-selected-decision"] == "science"
    completion = answer.parse()
    assert completion.object == "chat.completion"
    assert completion.choices[0].message.content
    assert completion.usage.total_tokens > 0


def test_stream_without_usage_shows_no_usage(client):
    chunks = list(client.chat.completions.create(
        model="auto", messages=[{"role": "user", "content": MATH}], stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks)
    assert all(c.usage is None and len(c.choices) == 1 for c in chunks)
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_stream_with_usage_shows_usage_once(client):
    chunks = list(client.chat.completions.create(
        model="auto", messages=[{"role": "user", "content": MATH}], stream=True,
        stream_options={"include_usage": True}))
    with_usage = [c for c in chunks if c.usage is not None]
    assert len(with_usage) == 1 and with_usage[0] is chunks[-1]
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens > 0


def test_explicit_stream_arrives_as_the_upstream_sent_it(default_site):
    gateway, mock = default_site
    body = chat("hello there", model="coder", stream=True)
    through = gateway.post(body)
    assert through.status == 200 and through.headers["content-type"].startswith("text/event-stream")
    assert through.body.rstrip().endswith(b"data: [DONE]")
    direct = request(mock.port + 1, "POST", "/v1/chat/completions", body)
    frames = lambda r: [f for f in r.body.split(b"\n\n") if f]
    assert len(frames(through)) == len(frames(direct))


def test_tools_arrive_untouched(client, default_site):
    _, mock = default_site
    tools = [{"type": "function", "function": {"name": "get_weather", "description": "Weather at a place",
             "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]
    client.chat.completions.create(model="general", messages=[{"role": "user", "content": "Weather in Oslo?"}],
                                   tools=tools, tool_choice="auto")
    assert json.loads(mock.last_body(0))["tools"] == tools


def test_image_parts_are_read_and_kept(client, default_site):
    _, mock = default_site
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    parts = [{"type": "text", "text": "Solve for x: 3x^2 - 12x + 9 = 0, and explain the discriminant."}, image]
    answer = client.chat.completions.with_raw_response.create(model="auto", messages=[{"role": "user", "content": parts}])
    assert answer.headers["x-vsr-selected-model"] == "reasoner"
    assert json.loads(mock.last_body(2))["messages"][-1]["content"] == parts


def test_extras_arrive_byte_for_byte(default_site):
    gateway, mock = default_site
    body = (b'{ "guided_json":{"type":"object","b":1,"a":[1.0,2e3]},\n\t"model" : "auto", "x_unknown":"\\u00e9\\/",'
            b'"messages":[{"role":"user","content":"Compute the determinant of a 3x3 matrix and its eigenvalues.",'
            b'"name":"zo\xc3\xab"}], "temperature":0.70 ,"repetition_penalty":1.10}')
    assert gateway.post(body).status == 200
    upstream = mock.last_body(2)
    assert b'"model" : "reasoner"' in upstream
    for piece in (b'{ "guided_json":{"type":"object","b":1,"a":[1.0,2e3]},\n\t', b'"x_unknown":"\\u00e9\\/"',
                  b'"name":"zo\xc3\xab"', b'"temperature":0.70 ,"repetition_penalty":1.10'):
        assert piece in upstream, piece


def test_extra_body_of_the_client(client, default_site):
    _, mock = default_site
    client.chat.completions.create(model="coder", messages=[{"role": "user", "content": "hi"}],
                                   extra_body={"guided_regex": "[a-z]+", "top_k": 20})
    sent = json.loads(mock.last_body(1))
    assert sent["guided_regex"] == "[a-z]+" and sent["top_k"] == 20


def test_explicit_model_passes_untouched(default_site):
    gateway, mock = default_site
    body = b'{"model":"expert",  "messages":[{"role":"user","content":"What is 2+2?"}] }'
    answer = gateway.post(body)
    assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "expert"
    assert mock.last_body(3) == body


def test_one_megabyte_prompts(start):
    mock = start.mock()
    gateway = start.gateway(builtin_on(mock.port).rstrip() + "\n  semroute: {signal_deadline_ms: 20000}\n")
    text = "The court held that the contract was void for want of consideration. " * 15000
    body = json.dumps(chat(text)).encode()
    assert len(body) > 1_000_000
    answer = gateway.post(body)
    assert answer.status == 200 and answer.headers["x-vsr-selected-model"] == "expert", answer
    assert json.loads(mock.last_body(3))["messages"][-1]["content"] == text
    body = json.dumps(chat(text, model="coder")).encode()
    assert gateway.post(body).status == 200
    assert mock.last_body(1) == body


def test_embeddings_and_completions_by_model(client):
    vectors = client.embeddings.create(model="general", input=["one", "two"])
    assert len(vectors.data) == 2
    completion = client.completions.create(model="coder", prompt="def fib(n):")
    assert completion.choices[0].text


def test_models(client):
    ids = [m.id for m in client.models.list()]
    assert "auto" in ids
    assert client.models.retrieve("auto").id == "auto"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("no-such-model")


def test_errors_are_what_the_client_expects(client):
    with pytest.raises(openai.NotFoundError) as unknown:
        client.chat.completions.create(model="nobody-serves-this", messages=[{"role": "user", "content": "x"}])
    assert "nobody-serves-this" in unknown.value.message
    with pytest.raises(openai.BadRequestError) as bad:
        client.chat.completions.create(model="auto", messages="not a list")
    assert "messages" in bad.value.message


def test_upstream_errors_pass_unchanged(default_site):
    gateway, mock = default_site
    for status in (400, 401, 429, 500, 503):
        through = gateway.post(chat("x", model="general"), headers={"x-mock-status": str(status)})
        direct = request(mock.port, "POST", "/v1/chat/completions", chat("x", model="general"),
                         {"x-mock-status": str(status)})
        assert through.status == status == direct.status
        assert through.body == direct.body


def test_curl_plain_and_streaming(default_site):
    gateway, _ = default_site
    url = f"http://127.0.0.1:{gateway.port}/v1/chat/completions"
    plain = subprocess.run(["curl", "-sS", "-i", url, "-H", "content-type: application/json", "-d",
                            json.dumps(chat("Is a verbal contract binding on a landlord?"))],
                           capture_output=True, text=True, timeout=60)
    assert plain.returncode == 0 and " 200 " in plain.stdout.splitlines()[0]
    assert "x-vsr-selected-model: expert" in plain.stdout.lower()
    stream = subprocess.run(["curl", "-sSN", url, "-H", "content-type: application/json", "-d",
                             json.dumps(chat("hi", model="general", stream=True))],
                            capture_output=True, text=True, timeout=60)
    assert stream.stdout.rstrip().endswith("data: [DONE]")


def test_curl_expect_continue(default_site, tmp_path):
    gateway, mock = default_site
    body = json.dumps(chat("x" * 100_000, model="general")).encode()
    (tmp_path / "body.json").write_bytes(body)
    done = subprocess.run(["curl", "-sSv", f"http://127.0.0.1:{gateway.port}/v1/chat/completions", "-H",
                           "content-type: application/json", "-H", "Expect: 100-continue", "--data-binary",
                           f"@{tmp_path}/body.json"], capture_output=True, text=True, timeout=60)
    assert "100 Continue" in done.stderr and done.returncode == 0
    assert mock.last_body(0) == body
