"""Private numbers however they are written: behind a redacting guard no upstream sees a digit of them, and the client gets them back
byte for byte. Through both doors."""
import json
import re

import pytest

import envoy as real
from conftest import BINARY, Gateway, Process, free_ports, request, wait_http
from echo import Echo
from test_guards import configuration

HIDDEN = re.compile(r"My number is \[(CREDIT_CARD|PHONE_NUMBER|US_SSN|IBAN_CODE)_1\],? keep it\.")
CARD = "4111111111111111"
MARKS = [" ", "-", ".", "_", "/", "\\", "|", ", ", ":", "*", "\t", "\n", " - ", "\u00a0", "\u2009", "\u202f", "\u2013", "\u2011", "\u00b7",
         "\u200b", "\u2060", "\u00ad"]
ZEROS = [0x660, 0x6F0, 0x966, 0xE50, 0xFF10, 0x1D7CE, 0x1FBF0]


def in_groups(mark, size=4):
    return mark.join(CARD[at:at + size] for at in range(0, len(CARD), size))


def in_script(zero, text=CARD):
    return "".join(chr(zero + int(c)) if c.isdigit() else c for c in text)


FORMS = [*(in_groups(mark) for mark in MARKS), *(in_groups(mark, 1) for mark in MARKS), *(in_script(zero) for zero in ZEROS),
         *(in_script(zero, in_groups("-")) for zero in ZEROS), "٢١٢-٥٥٥-٠١٤٣", "212\u2013555\u20130143", "＋44\u00a020\u00a07946\u00a00958",
         "536\u201190\u20114399", "GB82\u00a0WEST\u00a01234\u00a05698\u00a07654\u00a032"]


@pytest.fixture(scope="module")
def echo():
    echo = Echo()
    yield echo
    echo.stop()


@pytest.fixture(scope="module", params=["gateway", "envoy"])
def port(request, tmp_path_factory, echo):
    directory = tmp_path_factory.mktemp("numbers")
    if request.param == "gateway":
        running = [Gateway(configuration(["one"], echo.port), directory)]
        yield running[0].port
    else:
        extproc, metrics, path = free_ports(), free_ports(), directory / "c.yaml"
        path.write_text(configuration(real.MODELS, echo.port))
        running = [Process([BINARY, "serve", "-c", path, "--gateway", "off", "--extproc", f"127.0.0.1:{extproc}", "--metrics",
                            f"127.0.0.1:{metrics}", "--api", "off"], directory / "log")]
        wait_http(metrics, "/metrics", running[0])

        def towards(text):
            for worker in range(len(real.MODELS)):
                text = text.replace(f"port_value: {61000 + worker}", f"port_value: {echo.port}")
            return text

        running.append(real.Envoy(directory, "FULL_DUPLEX", extproc, 61000, change=towards))
        yield running[1].port
    for process in reversed(running):
        process.stop()


def ask(port, echo, messages):
    answer = request(port, "POST", "/v1/chat/completions", {"model": "auto", "messages": messages})
    assert answer.status == 200, answer
    return answer.json()["choices"][0]["message"]["content"], json.loads(echo.bodies[-1])["messages"]


def test_every_form_is_hidden_and_restored(port, echo):
    wrong = []
    for form in FORMS:
        text = f"My number is {form}, keep it."
        said, seen = ask(port, echo, [{"role": "user", "content": text}])
        if not HIDDEN.fullmatch(seen[0]["content"]) or said != text:
            wrong.append((form, seen[0]["content"], said))
    assert wrong == []


def test_a_number_that_goes_over_two_messages(port, echo):
    messages = [{"role": "user", "content": "My card: 4111 1111"}, {"role": "user", "content": "1111 1111, keep it."}]
    said, seen = ask(port, echo, messages)
    assert [m["content"] for m in seen] == ["My card: [CREDIT_CARD_1]", ", keep it."] and said == ", keep it."


def test_a_number_that_goes_over_two_parts(port, echo):
    parts = [{"type": "text", "text": text} for text in ("My card: 4111 1111", "1111 1111, keep it.")]
    answer = request(port, "POST", "/v1/chat/completions", {"model": "auto", "messages": [
        {"role": "user", "content": parts}, {"role": "user", "content": "Go on."}]})
    assert answer.status == 200
    seen = json.loads(echo.bodies[-1])["messages"][0]["content"]
    assert [part["text"] for part in seen] == ["My card: [CREDIT_CARD_1]", ", keep it."]


@pytest.mark.parametrize("left, right", [("write to john.doe@example.", "com please"), ("write to john.doe", "@example.com"),
                                         ("write to john.doe@", "example.com"), ("the host is 192.168.", "10.25 ok"),
                                         ("my ssn is 123-45-", "6789 ok")])
def test_a_value_that_is_cut_at_a_mark(port, echo, left, right):
    parts = [{"type": "text", "text": text} for text in (left, right)]
    answer = request(port, "POST", "/v1/chat/completions", {"model": "auto", "messages": [{"role": "user", "content": parts}]})
    assert answer.status == 200
    seen = [part["text"] for part in json.loads(echo.bodies[-1])["messages"][0]["content"]]
    assert re.fullmatch(r"(write to|the host is|my ssn is) \[(EMAIL_ADDRESS|IP_ADDRESS|US_SSN)_1\]", seen[0]) and seen[1] in (" please", " ok", "")


def test_other_messages_stay_as_they_are(port, echo):
    messages = [{"role": "user", "content": "Chapter 4111 1111"}, {"role": "user", "content": "1111 1112 is a number."}]
    assert ask(port, echo, messages)[1] == messages


@pytest.mark.parametrize("value", ["4111111111111111", "-4111111111111111", "4111111111111111.0", "[4111, 1111, 1111, 1111]",
                                   '["4111", "1111", "1111", "1111"]', '["4111", 1111, "1111", 1111]', '[4111, "1111", 1111, "1111"]',
                                   "[4,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
                                   "4.111111111111111e15", "-41111111111111110E-1"])
def test_arguments_of_calls_stay_json(port, echo, value):
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1, "card": %s, "x": "y"}' % value}}
    ask(port, echo, [{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "Go on."}])
    seen = json.loads(echo.bodies[-1])["messages"][0]["tool_calls"][0]["function"]["arguments"]
    card = json.loads(seen).pop("card")
    assert card in ("[CREDIT_CARD_1]", ["[CREDIT_CARD_1]"]) and json.loads(seen) == {"n": 1, "card": card, "x": "y"}


PRIVATE = re.compile(r"[a-z]+@example\.com|4111111111111111|\d+\.\d+\.\d+\.\d+")
PLACEHOLDER = re.compile(r"\[[A-Z_]+_\d\]")


@pytest.mark.parametrize("said", ["ann@example.com, bob@example.com, eve@example.com", "id,4111111111111111,paid",
                                  "10.1.2.3,192.168.10.25,10.0.0.7", 'the "old" card, 4111111111111111, is paid', "a\nbob@example.com"])
def test_lists_in_strings_of_arguments_stay_text(port, echo, said):
    call = {"id": "call_1", "type": "function", "function": {"name": "send", "arguments": json.dumps({"to": said, "n": 1})}}
    thought = f"I take [{said}, 4111111111111111, x]."
    ask(port, echo, [{"role": "assistant", "tool_calls": [call], "reasoning_content": thought}, {"role": "user", "content": "Go on."}])
    seen = json.loads(echo.bodies[-1])["messages"][0]
    arguments = json.loads(seen["tool_calls"][0]["function"]["arguments"])
    assert PLACEHOLDER.sub("*", arguments["to"]) == PRIVATE.sub("*", said) and arguments["n"] == 1
    assert PLACEHOLDER.sub("*", seen["reasoning_content"]) == PRIVATE.sub("*", thought)
