"""An upstream that gives one answer in three APIs: chat completions, Responses and Messages, whole and streamed, in the
shapes that their public references show. What it says: a reasoning (if asked for), a text, or JSON if the request has a
schema for it, and two calls (if the request has tools)."""
import http.server
import json
import threading
import uuid

REASONING, TEXT = "Let me think.", 'The sum is "4"; ünïcode \U0001f600.'
CALLS = [("call_1", "add", {"a": 2, "b": 2}), ("call_2", "say", {"text": "4"})]
INPUT, CACHED, OUTPUT = 12, 3, 5
SIGNATURE, SEALED = "SIG", "ENC"  # of reasoning
PARSED = '{"a": 3}'
CUT = "cut by the test"  # a member of bodies: the answer ends at its limit


def pieces(text, size=4):
    return [text[i:i + size] for i in range(0, len(text), size)]


def text_of(body):
    formats = (body.get("response_format"), (body.get("text") or {}).get("format"), (body.get("output_config") or {}).get("format"))
    return PARSED if any(f and f.get("type") == "json_schema" for f in formats) else TEXT


def stop_of(body, calls, usual, called, cut):
    return cut if CUT in body else called if calls else usual


def arguments(call):
    return json.dumps(call[2])


# ---- chat completions ----

def chat_usage():
    return {"prompt_tokens": INPUT, "completion_tokens": OUTPUT, "total_tokens": INPUT + OUTPUT,
            "prompt_tokens_details": {"cached_tokens": CACHED}, "completion_tokens_details": {"reasoning_tokens": 0}}


def chat_whole(body, calls, reasoning):
    message = {"role": "assistant", "content": text_of(body), "refusal": None}
    if reasoning:
        message["reasoning_content"] = REASONING
    if calls:
        message["tool_calls"] = [{"id": c[0], "type": "function", "function": {"name": c[1], "arguments": arguments(c)}} for c in calls]
    return {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000, "model": body["model"],
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": stop_of(body, calls, "stop", "tool_calls", "length")}],
            "usage": chat_usage()}


def chat_events(body, calls, reasoning):
    def chunk(delta, finish=None):
        return None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": body["model"],
                      "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}], "usage": None}
    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(REASONING) if reasoning else []:
        yield chunk({"reasoning_content": piece})
    for piece in pieces(text_of(body)):
        yield chunk({"content": piece})
    for index, call in enumerate(calls):
        yield chunk({"tool_calls": [{"index": index, "id": call[0], "type": "function", "function": {"name": call[1], "arguments": ""}}]})
        for piece in pieces(arguments(call)):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, stop_of(body, calls, "stop", "tool_calls", "length"))
    if (body.get("stream_options") or {}).get("include_usage"):
        yield None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": body["model"],
                     "choices": [], "usage": chat_usage()}
    yield None, "[DONE]"


# ---- Messages ----

def messages_usage(output=OUTPUT):
    return {"input_tokens": INPUT - CACHED, "cache_creation_input_tokens": 0, "cache_read_input_tokens": CACHED,
            "output_tokens": output}


def messages_whole(body, calls, reasoning):
    content = [{"type": "thinking", "thinking": REASONING, "signature": SIGNATURE}] if reasoning else []
    content += [{"type": "text", "text": text_of(body)}]
    content += [{"type": "tool_use", "id": c[0], "name": c[1], "input": c[2]} for c in calls]
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": stop_of(body, calls, "end_turn", "tool_use", "max_tokens"), "stop_sequence": None, "usage": messages_usage()}


def messages_events(body, calls, reasoning):
    def event(kind, **more):
        return kind, {"type": kind, **more}
    whole = messages_whole(body, calls, reasoning)
    yield event("message_start", message={**whole, "content": [], "stop_reason": None, "usage": messages_usage(1)})
    yield event("ping")
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        if kind == "thinking":
            yield event("content_block_start", index=index, content_block={"type": kind, "thinking": "", "signature": ""})
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(REASONING)] + [{"type": "signature_delta", "signature": SIGNATURE}]
        elif kind == "text":
            yield event("content_block_start", index=index, content_block={"type": kind, "text": ""})
            deltas = [{"type": "text_delta", "text": p} for p in pieces(block["text"])]
        else:
            yield event("content_block_start", index=index, content_block={**block, "input": {}})
            deltas = [{"type": "input_json_delta", "partial_json": p} for p in pieces(json.dumps(block["input"]))]
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": whole["stop_reason"], "stop_sequence": None}, usage=messages_usage())
    yield event("message_stop")


# ---- Responses ----

def responses_whole(body, calls, reasoning):
    output = []
    if reasoning:
        output.append({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": REASONING}], "encrypted_content": SEALED})
    status = "incomplete" if CUT in body else "completed"
    output.append({"id": "msg_1", "type": "message", "status": "completed" if calls else status, "role": "assistant",
                   "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text_of(body)}]})
    for call in calls:
        output.append({"id": "fc_" + call[0], "type": "function_call", "status": "completed", "arguments": arguments(call),
                       "call_id": call[0], "name": call[1]})
    echo = {k: body[k] for k in ("tools", "instructions", "max_output_tokens", "metadata", "reasoning", "temperature", "text", "store") if k in body}
    return {"id": "resp_1", "object": "response", "created_at": 1700000000, "status": status, "background": False, "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if CUT in body else None, "instructions": None, "max_output_tokens": None, "metadata": {}, "model": body["model"],
            "output": output, "parallel_tool_calls": True, "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None}, "store": True, "temperature": 1.0,
            "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled",
            "user": None, "usage": {"input_tokens": INPUT, "input_tokens_details": {"cached_tokens": CACHED, "cache_write_tokens": 0},
                                    "output_tokens": OUTPUT, "output_tokens_details": {"reasoning_tokens": 0},
                                    "total_tokens": INPUT + OUTPUT}, **echo}


def responses_events(body, calls, reasoning):
    number = iter(range(10000))

    def event(kind, **more):
        return kind, {"type": kind, "sequence_number": next(number), **more}
    whole = responses_whole(body, calls, reasoning)
    begun = {**whole, "status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        place = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "content": []})
            part = item["content"][0]
            place["content_index"] = 0
            yield event("response.content_part.added", **place, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("response.output_text.delta", **place, delta=piece, logprobs=[])
            yield event("response.output_text.done", **place, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **place, part=part)
        elif item["type"] == "reasoning":
            yield event("response.output_item.added", output_index=index, item={"id": item["id"], "type": "reasoning", "summary": []})
            place["summary_index"] = 0
            yield event("response.reasoning_summary_part.added", **place, part={"type": "summary_text", "text": ""})
            for piece in pieces(REASONING):
                yield event("response.reasoning_summary_text.delta", **place, delta=piece)
            yield event("response.reasoning_summary_text.done", **place, text=REASONING)
            yield event("response.reasoning_summary_part.done", **place, part=item["summary"][0])
        else:
            yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress", "arguments": ""})
            for piece in pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event("response.function_call_arguments.done", **place, name=item["name"], arguments=item["arguments"])
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response." + whole["status"], response=whole)


def searches(path):
    """Events that the other APIs do not have, for the middle of a stream: what a server's own search did."""
    item = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "q"}}
    block = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    return {"/v1/chat/completions": [(None, {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m",
                                             "choices": [], "system_fingerprint": "fp_1", "usage": None})],
            "/v1/responses": [(f"response.output_item.{what}", {"type": f"response.output_item.{what}", "sequence_number": 9999,
                                                                "output_index": 99, "item": item}) for what in ("added", "done")],
            "/v1/messages": [("content_block_start", {"type": "content_block_start", "index": 99, "content_block": block}),
                             ("content_block_stop", {"type": "content_block_stop", "index": 99})]}[path]


APIS = {"/v1/chat/completions": (chat_whole, chat_events), "/v1/responses": (responses_whole, responses_events),
        "/v1/messages": (messages_whole, messages_events)}
PATHS = dict(zip(("chat", "responses", "messages"), APIS))


def own_ids(make, nameless):
    """The answers that `make` makes, with ids that no other one has, or with empty ones."""
    def made(*ask):
        tag, answer = uuid.uuid4().hex, make(*ask)
        def renamed(value):
            text = json.dumps(value)
            for id in ("resp_1", "chatcmpl-1", "msg_1"):
                text = text.replace(f'"{id}"', '""' if nameless else f'"{id[:-1]}{tag}"')
            return json.loads(text)
        return renamed(answer) if isinstance(answer, dict) else ((name, renamed(data)) for name, data in answer)
    return made


def reasons(path, body):
    if path == "/v1/messages":
        return (body.get("thinking") or {}).get("type") in ("enabled", "adaptive")
    return bool(body.get("reasoning_effort") or (body.get("reasoning") or {}).get("effort"))


class Tongues:
    """Listens on a port of its own. `seen` has the path, the headers and the body of every request; `fail` is the status and
    body of the next answers, None: they are good; `cut` ends streams after that many events, `short` ends answers at their limit,
    `searching` has events in streams that the other APIs do not have. With `unique` each answer has an id of
    its own, with `nameless` none."""

    def __init__(self, unique=False, nameless=False):
        self.seen, self.fail, self.cut, self.short, self.searching = [], None, None, False, False
        tongues = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def read_body(self):
                if self.headers.get("transfer-encoding", "").lower() != "chunked":
                    return self.rfile.read(int(self.headers["content-length"]))
                body = b""
                while size := int(self.rfile.readline(), 16):
                    body += self.rfile.read(size)
                    self.rfile.readline()
                self.rfile.readline()
                return body

            def do_POST(self):
                body = json.loads(self.read_body())
                path = self.path.partition("?")[0]
                tongues.seen.append((path, {k.lower(): v for k, v in self.headers.items()}, body))
                if tongues.fail or path not in APIS:
                    status, text, kind = tongues.fail or (404, b"{}", "application/json")
                    self.whole(status, text, kind)
                    return
                whole, events = (own_ids(make, nameless) if unique or nameless else make for make in APIS[path])
                calls = CALLS if body.get("tools") else []
                if tongues.short:
                    body[CUT] = True
                if body.get("stream"):
                    said = list(events(body, calls, reasons(path, body)))
                    self.stream(said[:1] + searches(path) + said[1:] if tongues.searching else said)
                else:
                    self.whole(200, json.dumps(whole(body, calls, reasons(path, body))).encode(), "application/json")

            def whole(self, status, text, kind):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def stream(self, events):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                for number, (name, data) in enumerate(events):
                    if number == tongues.cut:
                        self.close_connection = True
                        self.wfile.flush()
                        self.connection.shutdown(2)
                        return
                    text = data if isinstance(data, str) else json.dumps(data)
                    line = (f"event: {name}\n" if name else "") + f"data: {text}\n\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line.encode()), line.encode()))
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
