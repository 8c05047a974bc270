"""What official clients do, one function each: it takes a place (openai's and anthropic's clients of one base URL) and
a model, and returns what the client made of the answer, as plain data. Two places that behave alike return the same.
"""
import anthropic
import openai
import pydantic

QUESTION = "Let f be continuous on [0,1]. Prove that the integral of f squared is at least the square of its integral."
EVERYTHING = {"x-mock-tools": "2", "x-mock-reasoning": "1", "x-mock-cached": "3"}
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}


class Find(pydantic.BaseModel):
    query: str
    limit: int


class Answer(pydantic.BaseModel):
    a: int


class Place:
    """The clients of one server."""

    def __init__(self, port, headers=None):
        root = f"http://127.0.0.1:{port}"
        shared = {"api_key": "test-key", "max_retries": 0, "default_headers": headers, "timeout": 60}
        self.port = port
        self.openai = openai.OpenAI(base_url=f"{root}/v1", **shared)
        self.anthropic = anthropic.Anthropic(base_url=root, **shared)

    def close(self):
        self.openai.close()
        self.anthropic.close()


def plain(thing):
    """Pydantic objects, lists and exceptions of the clients as data."""
    if isinstance(thing, pydantic.BaseModel):
        return thing.model_dump(mode="json", warnings=False)
    if isinstance(thing, (list, tuple)):
        return [plain(x) for x in thing]
    return thing


def raised(call):
    """The class, status and body of the error that a call ends with."""
    try:
        call()
    except (openai.APIError, anthropic.APIError) as error:
        return [type(error).__name__, getattr(error, "status_code", None), error.body]
    raise AssertionError("no error")


# ---- chat completions

def chat_tools():
    return [{"type": "function", "function": {"name": "find", "description": "Finds books", "parameters": SCHEMA}}]


def chat_plain(p, model):
    return p.openai.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}])


def chat_everything(p, model):
    return p.openai.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}],
                                            tools=chat_tools(), extra_headers=EVERYTHING)


def chat_stream(p, model):
    return list(p.openai.chat.completions.create(model=model, messages=[{"role": "user", "content": QUESTION}], stream=True,
                                                 stream_options={"include_usage": True}))


def chat_stream_everything(p, model):
    with p.openai.chat.completions.stream(model=model, messages=[{"role": "user", "content": QUESTION}], tools=chat_tools(),
                                          stream_options={"include_usage": True}, extra_headers=EVERYTHING) as stream:
        events = [event.type for event in stream]
        return [events, stream.get_final_completion()]


def chat_parsed(p, model):
    return p.openai.chat.completions.parse(model=model, messages=[{"role": "user", "content": QUESTION}], response_format=Answer,
                                           extra_headers={"x-mock-text": '{"a": 3}'})


def chat_error(p, model):
    return raised(lambda: p.openai.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], extra_headers={"x-mock-status": "429"}))


def completion_plain(p, model):
    return p.openai.completions.create(model=model, prompt=QUESTION)


def completion_stream(p, model):
    return list(p.openai.completions.create(model=model, prompt=QUESTION, stream=True))


# ---- Responses

def response_tools():
    return [{"type": "function", "name": "find", "description": "Finds books", "parameters": SCHEMA, "strict": False}]


def response_plain(p, model):
    return p.openai.responses.create(model=model, input=QUESTION, instructions="Answer in one line.", store=False)


def response_items(p, model):
    return p.openai.responses.create(model=model, store=False, tools=response_tools(), extra_headers=EVERYTHING, input=[
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
        {"type": "function_call", "call_id": "call_1", "name": "find", "arguments": '{"query":"x"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "three books"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I found three.", "annotations": []}],
         "id": "msg_1", "status": "completed"},
        {"role": "user", "content": "Now compute the integral of x^2 over [0,1]."}])


def response_stream(p, model):
    return list(p.openai.responses.create(model=model, input=QUESTION, stream=True, store=False))


def response_stream_everything(p, model):
    with p.openai.responses.stream(model=model, input=QUESTION, tools=response_tools(), store=False,
                                   reasoning={"effort": "high", "summary": "auto"}, extra_headers=EVERYTHING) as stream:
        events = [plain(event) for event in stream]
        return [events, stream.get_final_response()]


def response_parsed(p, model):
    parsed = p.openai.responses.parse(model=model, input=QUESTION, text_format=Answer, store=False,
                                      extra_headers={"x-mock-text": '{"a": 3}'})
    assert parsed.output_parsed == Answer(a=3)
    return parsed


def response_parsed_tool(p, model):
    return p.openai.responses.parse(model=model, input=QUESTION, tools=[openai.pydantic_function_tool(Find)["function"] | {
        "type": "function"}], store=False, extra_headers={"x-mock-tools": "1"})


def response_error(p, model):
    return raised(lambda: p.openai.responses.create(model=model, input=QUESTION, store=False,
                                                    extra_headers={"x-mock-status": "429"}))


def response_stream_error(p, model):
    return raised(lambda: p.openai.chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], extra_headers={"x-mock-status": "500"}))


# ---- Messages

def message_tools():
    return [{"name": "find", "description": "Finds books", "input_schema": SCHEMA}]


def message_plain(p, model):
    return p.anthropic.messages.create(model=model, max_tokens=100, system="Answer in one line.",
                                       messages=[{"role": "user", "content": QUESTION}])


def message_blocks(p, model):
    return p.anthropic.messages.create(
        model=model, max_tokens=100, tools=message_tools(), extra_headers=EVERYTHING,
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}], messages=[
            {"role": "user", "content": [{"type": "text", "text": QUESTION, "cache_control": {"type": "ephemeral"}}]},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."},
                                              {"type": "tool_use", "id": "call_1", "name": "find", "input": {"query": "x"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": [
                {"type": "text", "text": "three books"}]}, {"type": "text", "text": "Compute the integral of x^2."}]}])


def message_thinking(p, model):
    return p.anthropic.messages.create(model=model, max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1024},
                                       messages=[{"role": "user", "content": QUESTION}])


def message_stream(p, model):
    return list(p.anthropic.messages.create(model=model, max_tokens=100, stream=True,
                                            messages=[{"role": "user", "content": QUESTION}]))


def message_stream_everything(p, model):
    with p.anthropic.messages.stream(model=model, max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1024},
                                     tools=message_tools(), messages=[{"role": "user", "content": QUESTION}],
                                     extra_headers=EVERYTHING) as stream:
        events = [plain(event) for event in stream]
        return [events, stream.get_final_message()]


def message_error(p, model):
    return raised(lambda: p.anthropic.messages.create(model=model, max_tokens=100, messages=[{"role": "user", "content": QUESTION}],
                                                      extra_headers={"x-mock-status": "529"}))


def message_stream_error(p, model):
    return raised(lambda: list(p.anthropic.messages.create(
        model=model, max_tokens=100, stream=True, messages=[{"role": "user", "content": QUESTION}],
        extra_headers={"x-mock-fail-after": "4"})))


CHAT = [chat_plain, chat_everything, chat_stream, chat_stream_everything, chat_parsed, chat_error, completion_plain,
        completion_stream]
RESPONSES = [response_plain, response_items, response_stream, response_stream_everything, response_parsed,
             response_parsed_tool, response_error, response_stream_error]
MESSAGES = [message_plain, message_blocks, message_thinking, message_stream, message_stream_everything, message_error,
            message_stream_error]
