"""What a model may read and no signal can, in places and shapes where no table expects it: images in documents and in results of tools,
uploaded files, stores and containers, shapes of other APIs. It is unread wherever it stands; what only looks like it passes."""
from attack_site import MODELS, Case, fill, run, site  # noqa: F401 (a fixture)
from test_attack_surface import BYTES

URL = f"data:image/png;base64,{BYTES}"
FILE = "file-BK7bzQj3FfZFXr7DbL6xJwfo"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BYTES}}
LINKED = {"type": "image", "source": {"type": "url", "url": "https://files.example/a.png"}}
HELLO = "How do I boil an egg?"


def chat(*parts, **more):
    return "/v1/chat/completions", {"model": "MODEL", "messages": [{"role": "user", "content": [*parts, {"type": "text", "text": HELLO}]}], **more}


def messages(*parts, **more):
    return "/v1/messages", {**chat(*parts)[1], "max_tokens": 64, **more}


def responses(*items, **more):
    return "/v1/responses", {"model": "MODEL", "input": [*items, {"role": "user", "content": HELLO}], **more}


def result(content):
    return messages({"type": "tool_result", "tool_use_id": "toolu_1", "content": content})


def output(content, kind="function_call_output"):
    return responses({"type": kind, "call_id": "call_1", "output": content})


UNREAD = {
    "messages: an uploaded file for a container": messages({"type": "container_upload", "file_id": "file_011CNha8iCJcU1wXNR6q4V8w"}),
    "messages: a container": messages(container="container_011CNha8iCJc"),
    "messages: a container with skills": messages(container={"id": "container_011CNha8", "skills": [{"type": "custom", "skill_id": "skill_01AbCd"}]}),
    "messages: an image in a document": messages({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": HELLO}, IMAGE]}}),
    "messages: a linked image in a document": messages({"type": "document", "source": {"type": "content", "content": [LINKED]}}),
    "messages: an image in a document in a result": result([{"type": "document", "source": {"type": "content", "content": [IMAGE]}}]),
    "messages: a page that was fetched": messages({"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "web_fetch_result", "url": "https://a.example", "content": {
            "type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK" + BYTES[12:]}}}}),
    "messages: a file that code wrote": messages({"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": {
        "type": "code_execution_result", "stdout": "ok", "content": [{"type": "code_execution_output", "file_id": "file_011CNha8iCJc"}]}}),
    "messages: an image in the system prompt": messages(system=[IMAGE, {"type": "text", "text": HELLO}]),
    "messages: a part of chats": messages({"type": "image_url", "image_url": {"url": URL}}),
    "responses: a screenshot": output({"type": "computer_screenshot", "image_url": URL}, "computer_call_output"),
    "responses: a screenshot that was uploaded": output({"type": "computer_screenshot", "file_id": FILE}, "computer_call_output"),
    "responses: a linked file in a result": output([{"type": "input_file", "file_url": "https://files.example/a.pdf"}]),
    "responses: an image of Messages in a result": output([IMAGE]),
    "responses: stores of texts": responses(tools=[{"type": "file_search", "vector_store_ids": ["vs_68e1f0a2"]}]),
    "responses: a container": responses(tools=[{"type": "code_interpreter", "container": "cntr_68e1f0a2"}]),
    "responses: files for a container": responses(tools=[{"type": "code_interpreter", "container": {"type": "auto", "file_ids": [FILE]}}]),
    "responses: a container of a shell": responses(tools=[{"type": "shell", "environment": {"type": "container_reference", "container_id": "cntr_68e1f0a2"}}]),
    "responses: a mask": responses(tools=[{"type": "image_generation", "input_image_mask": {"image_url": URL}}]),
    "responses: a mask that was uploaded": responses(tools=[{"type": "image_generation", "input_image_mask": {"file_id": FILE}}]),
    "responses: an image that code drew": responses({"type": "code_interpreter_call", "id": "ci_1", "code": "plot()", "container_id": "cntr_1",
                                                     "outputs": [{"type": "image", "url": URL}]}),
    "responses: a part of Messages": responses({"type": "message", "role": "user", "content": [IMAGE]}),
    "chat: a part of Messages": chat(IMAGE),
    "chat: a linked part of Messages": chat(LINKED),
    "chat: a part of Gemini": chat({"inline_data": {"mime_type": "image/png", "data": BYTES}}),
    "chat: pixels": chat({"type": "image_pil", "image_pil": BYTES}),
    "chat: vectors of sound": chat({"type": "audio_embeds", "audio_embeds": BYTES}),
    "chat: vectors of text": chat({"type": "prompt_embeds", "prompt_embeds": BYTES}),
    "chat: images beside the content": ("/v1/chat/completions", {"model": "MODEL", "messages": [{"role": "user", "content": HELLO, "images": [BYTES]}]}),
    "chat: bytes under a name that nobody knows": chat({"type": "zz", "zz": {"deep": [{"er": BYTES}]}}),
    "chat: a URL of bytes under a name that nobody knows": chat({"type": "zz", "zz": [URL]}),
    "chat: an id under a name for files": chat({"type": "zz", "zz": [{"file_id": FILE}]}),
    "chat: a link under a name for images": chat({"type": "zz", "zz": {"image_url": "https://files.example/a.png"}}),
    "chat: such a name with escapes": ("/v1/chat/completions", (
        b'{"model": "general", "messages": [{"role": "user", "content": [{"zz": {"image\\u005furl": "https://files.example/a.png"}}]}]}')),
    "score: token ids": ("/v1/score", {"model": "MODEL", "query": [1, 15339], "items": [[1, 2], [3, 4]]}),
    "score: token ids beside a text": ("/score", {"model": "MODEL", "query": [1, 15339], "items": [HELLO]}),
    "score: a linked image": ("/score", {"model": "MODEL", "query": HELLO, "items": [{"image": "https://files.example/a.png"}]}),
    "any other API: token ids": ("/v1/anything", {"model": "MODEL", "query": HELLO, "items": [[1, 15339], [3, 4]]}),
    "rerank: a linked image": ("/rerank", {"model": "MODEL", "query": HELLO, "documents": [{"image": "https://files.example/a.png"}]}),
    "rerank: a query that is an image": ("/rerank", {"model": "MODEL", "query": {"image": "https://files.example/a.png"}, "documents": [HELLO]}),
    "chat: bytes whose slashes are escaped": ("/v1/chat/completions", (
        b'{"model": "general", "messages": [{"role": "user", "content": [{"zz": "\\/9j\\/' + BYTES.encode() + b'"}]}]}')),
}

READ = {
    "messages: a search result cites its source": messages({"type": "search_result", "source": "http://localhost:8080/eggs", "title": "Eggs",
                                                            "content": [{"type": "text", "text": "Boil it for six minutes."}]}),
    "messages: the same in a result": result([{"type": "search_result", "source": "http://localhost:8080/eggs", "title": "Eggs",
                                               "content": [{"type": "text", "text": "Boil it for six minutes."}]}]),
    "messages: a document of text": messages({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": HELLO}]}}),
    "responses: a container of its own": responses(tools=[{"type": "code_interpreter", "container": {"type": "auto"}}]),
    "responses: what a search found": responses({"type": "file_search_call", "id": "fs_1", "queries": ["eggs"], "status": "completed",
                                                 "results": [{"file_id": FILE, "filename": "eggs.txt", "text": "Boil it for six minutes."}]}),
    "responses: citations": responses({"type": "message", "role": "assistant", "content": [{
        "type": "output_text", "text": "Six minutes.", "annotations": [{"type": "file_citation", "file_id": FILE, "filename": "eggs.txt", "index": 1}]}]}),
    "rerank: numbers of a document": ("/rerank", {"model": "MODEL", "query": HELLO, "documents": [{"text": HELLO, "page": 7, "span": [1, 2]}]}),
    "chat: a schema with media": chat(tools=[{"type": "function", "function": {"name": "show", "description": "Shows an image.", "parameters": {
        "type": "object", "properties": {"file_id": {"type": "string"}, "image_url": {"type": "string", "description": "An address."}}}}}]),
    "chat: a signature beside a call": ("/v1/chat/completions", {"model": "MODEL", "messages": [
        {"role": "user", "content": HELLO},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "show", "arguments": "{}"},
                                              "extra_content": {"google": {"thought_signature": "CiQB" + BYTES[12:]}}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"}]}),
}


def cases_of(table):
    for number, (name, (path, body)) in enumerate(table.items()):
        for on_error in ("match", "no_match"):
            door, language = [("gateway", "python"), ("envoy", "go"), ("gateway", "go"), ("envoy", "python")][number % 4]
            yield Case(name, path, body if isinstance(body, bytes) else fill(body, MODELS[language]), "no needle", door, on_error, language)


def test_media_is_unread_wherever_it_stands(site):  # noqa: F811
    cases = list(cases_of(UNREAD))
    run(site, cases)
    wrong = [f"{case.name}: {case.door}, on_error {case.on_error}: {case.status}, coverage {case.coverage or 'absent'}" for case in cases
             if not (case.status == 403 if case.on_error == "match" else case.coverage and float(case.coverage) < 1)]
    assert not wrong, "\n".join(wrong)


def test_what_only_names_media_passes(site):  # noqa: F811
    cases = list(cases_of(READ))
    run(site, cases)
    wrong = [f"{case.name}: {case.door}, on_error {case.on_error}: {case.status}, coverage {case.coverage or 'absent'}" for case in cases
             if (case.status, case.coverage) != (200, "1.0000")]
    assert not wrong, "\n".join(wrong)
