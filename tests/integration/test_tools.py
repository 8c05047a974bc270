"""Which tools a model gets: what arrives upstream, through the gateway and through the real Envoy."""
import json

import pytest

import envoy as real
from conftest import BINARY, Mock, Process, free_ports, request, semroute, wait_http
from keys_site import decision, model, site, write
from test_pools import until

TOOLS = {
    "get_weather": "Current weather and forecast for a city",
    "calculate": "Evaluate an arithmetic expression, percentages and roots included",
    "send_email": "Send an e-mail message to a recipient",
    "search_flights": "Find flights between two airports on a date",
    "book_hotel": "Book a hotel room in a city for some nights",
    "translate_text": "Translate a text from one language into another",
    "convert_currency": "Convert an amount of money between currencies",
    "play_music": "Play a song, an album or a playlist",
    "create_event": "Put an appointment into the calendar",
    "get_stock_price": "Current price of a company's shares",
    "order_food": "Order a meal from a restaurant nearby",
    "run_sql": "Run an SQL query against the company's database",
}
ASKED = [
    ("Will it rain in Lisbon tomorrow?", "get_weather"),
    ("What is 17 percent of 2,340?", "calculate"),
    ("Write an e-mail to Ana that the report is late", "send_email"),
    ("I need a flight from Oslo to Rome on Friday", "search_flights"),
    ("Reserve a hotel room in Vienna for three nights", "book_hotel"),
    ("How do you say good morning in Japanese? Please translate", "translate_text"),
    ("How many euros are 250 US dollars?", "convert_currency"),
    ("Play the newest album of Adele", "play_music"),
    ("Put a meeting with the dentist into my calendar for Monday at nine", "create_event"),
    ("What does a share of Siemens cost right now?", "get_stock_price"),
    ("Order me a pizza from the place nearby", "order_food"),
]


def tool(name, description=None):
    return {"type": "function", "function": {
        "name": name, "description": TOOLS[name] if description is None else description,
        "parameters": {"type": "object", "properties": {"value": {"type": "string"}}}}}


def database(directory, names=TOOLS):
    file = directory / "tools_db.json"
    file.write_text(json.dumps([{"tool": tool(name), "description": TOOLS[name], "tags": [name],
                                 "category": "math" if name == "calculate" else "office"}
                                for name in names], indent=1))
    return file


def config(file, *plugins, **tools):
    plugins = [{"type": kind, "configuration": settings} for kind, settings in plugins]
    made = site(model("one", "@0"), model("two", "@1"), decisions=[decision(plugins=plugins)])
    made["global"]["integrations"] = {"tools": {"enabled": True, "top_k": 3, "similarity_threshold": 0.2,
                                                "tools_db_path": str(file), **tools}}
    return made


def body(text, *own, **more):
    made = {"model": "auto", "messages": [{"role": "user", "content": text}], "tool_choice": "auto", **more}
    if own:
        made["tools"] = [tool(name) for name in own]
    return made


def names(arrived):
    return [entry.get("function", entry)["name"] for entry in arrived.get("tools", [])]


@pytest.fixture(scope="module")
def mock(tmp_path_factory):
    mock = Mock(tmp_path_factory.mktemp("tools") / "mock.log")
    yield mock
    mock.stop()


@pytest.fixture(scope="module")
def sites(tmp_path_factory, mock):
    """sites(name, config) is a function that posts to both doors and returns what arrived behind each."""
    directory = tmp_path_factory.mktemp("tools")
    started, running = {}, []

    def serve(name, config):
        gateway, extproc, metrics = free_ports(), free_ports(), free_ports()
        file = write(config, directory / f"{name}.yaml", mock.port)
        process = Process([BINARY, "serve", "-c", file, "--gateway", f"127.0.0.1:{gateway}", "--api", "off", "--metrics",
                           f"127.0.0.1:{metrics}", "--extproc", f"127.0.0.1:{extproc}"], directory / f"{name}.log")
        running.append(process)
        wait_http(gateway, "/ready", process)
        envoy = real.Envoy(directory, "BUFFERED", extproc, mock.port)
        running.append(envoy)

        def post(content, path="/v1/chat/completions", **headers):
            arrived = []
            for port in (gateway, envoy.port):
                answer = request(port, "POST", path, content, {"x-vsr-debug": "true", **headers})
                assert answer.status == 200, answer.body
                arrived.append((json.loads(mock.last_body(1)), answer))
            assert arrived[0][0] == arrived[1][0]
            return arrived[0]
        return post

    def site_of(name, make):
        if name not in started:
            started[name] = serve(name, make(directory))
        return started[name]

    yield site_of
    for process in reversed(running):
        process.stop()


@pytest.mark.parametrize("text,wanted", ASKED)
def test_tools_of_the_database_join(sites, text, wanted):
    post = sites("add", lambda d: config(database(d), ("tool_selection", {"mode": "add", "top_k": 3})))
    arrived, answer = post(body(text))
    assert wanted in names(arrived) and len(names(arrived)) <= 3
    assert tool(wanted) in arrived["tools"]
    assert arrived["tool_choice"] == "auto"
    assert int(answer.headers["x-vsr-tools-added"]) == len(names(arrived))


@pytest.mark.parametrize("text,wanted", ASKED)
def test_the_requests_own_tools_are_filtered(sites, text, wanted):
    post = sites("filter", lambda d: config(database(d), ("tool_selection", {"mode": "filter", "relevance_threshold": 0.3,
                                                                             "preserve_count": 1})))
    arrived, answer = post(body(text, *TOOLS))
    assert wanted in names(arrived) and len(names(arrived)) < 6
    assert [name for name in TOOLS if name in names(arrived)] == names(arrived)  # in their order
    assert int(answer.headers["x-vsr-tools-removed"]) == len(TOOLS) - len(names(arrived))


def test_own_tools_stay_byte_for_byte(sites, mock):
    post = sites("add", lambda d: config(database(d), ("tool_selection", {"mode": "add", "top_k": 3})))
    own = '{ "type":"function",\t"function" : {"name": "mine", "description":"\\u00e9 does  things" , "parameters":{}} }'
    raw = '{"model":"auto","tool_choice":"auto","tools": [ %s ],"messages":[{"role":"user","content":"Will it rain in Rome?"}]}'
    post((raw % own).encode())
    assert own in mock.last_body(1).decode()
    assert names(json.loads(mock.last_body(1)))[:2] == ["mine", "get_weather"]


@pytest.mark.parametrize("more", [{"tool_choice": "none"}, {"tool_choice": "required"},
                                  {"tool_choice": {"type": "function", "function": {"name": "run_sql"}}}])
def test_the_clients_choice_is_obeyed(sites, more):
    post = sites("filter", lambda d: config(database(d), ("tool_selection", {"mode": "filter", "relevance_threshold": 0.3,
                                                                             "preserve_count": 1})))
    assert names(post(body("Will it rain in Lisbon?", *TOOLS, **more))[0]) == list(TOOLS)


def test_nothing_fits(sites):
    strict = {"mode": "filter", "relevance_threshold": 0.99}
    post = sites("none fits", lambda d: config(database(d), ("tool_selection", strict)))
    arrived, _ = post(body("Will it rain in Lisbon?", "run_sql", "play_music", parallel_tool_calls=True))
    assert "tools" not in arrived and "tool_choice" not in arrived and "parallel_tool_calls" not in arrived
    post = sites("empty list", lambda d: config(database(d), ("tool_selection", {**strict, "fallback_to_empty": False})))
    arrived, _ = post(body("Will it rain in Lisbon?", "run_sql", "play_music"))
    assert arrived["tools"] == [] and "tool_choice" not in arrived


def test_lists_of_names(sites):
    lists = {"mode": "filtered", "semantic_selection": False, "allow_tools": ["run_sql", "calculate", "send_email"],
             "block_tools": ["send_email"]}
    post = sites("lists", lambda d: config(database(d), ("tools", lists)))
    assert names(post(body("Hello", *TOOLS))[0]) == ["calculate", "run_sql"]
    forced = body("Hello", *TOOLS, tool_choice={"type": "function", "function": {"name": "play_music"}})
    assert post(forced)[0]["tool_choice"] == "auto"
    doubled = json.dumps(body("Hello", "play_music"))[:-1] + ',"tools":%s}' % json.dumps([tool("play_music"), tool("run_sql")])
    raw = post(doubled.encode())
    assert "play_music" not in json.dumps(raw[0])
    assert "tools" not in post(body("Hello", "play_music"))[0]


HISTORY = [
    {"role": "user", "content": "Will it rain?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "dry"},
    {"role": "assistant", "content": "No.", "tool_calls": []},
    {"role": "user", "content": "Thanks"},
]


def after(*called):
    """A conversation that called these tools, one after another, and goes on with a question that names none."""
    chat = [{"role": "assistant", "content": None, "tool_calls": [
        {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": "{}"}}]} for i, name in enumerate(called)]
    ask = {"role": "user", "content": "Please go on with the next step."}
    return {**body(""), "messages": [{"role": "user", "content": "Start."}, *chat, ask]}


def history(directory, selection=(), **settings):
    """One tool of the database joins, whatever its cosine, by what was called before alone."""
    return config(database(directory), ("tools", {"dynamic_retrieval": {
        "enabled": True, "strategy": "hybrid_history", "weights": {"semantic": 0, "history": 1}, **settings}}),
        ("tool_selection", {"mode": "add", "top_k": 1, "similarity_threshold": -1, **dict(selection)}))


PLANS = [("search_flights", "book_hotel"), ("book_hotel", "send_email"), ("run_sql", "send_email"), ("get_weather", "create_event"),
         ("translate_text", "send_email"), ("order_food", "play_music"), ("get_stock_price", "convert_currency"),
         ("calculate", "run_sql"), ("create_event", "get_weather"), ("play_music", "play_music")]


@pytest.mark.parametrize("last,then", PLANS)
def test_the_step_that_came_next_before_is_offered(sites, last, then):
    post = sites("history", history)
    assert names(post(after(last, then, last))[0]) == [then]
    assert names(post(after("one", last, then, "another", last))[0]) == [then]


def in_messages(*called):
    turns = [turn for i, name in enumerate(called) for turn in (
        {"role": "assistant", "content": [{"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": "ok"}]})]
    return {**after(), "max_tokens": 50, "tool_choice": {"type": "auto"}, "messages": [
        {"role": "user", "content": "Start."}, *turns, {"role": "assistant", "content": "Done."}, after()["messages"][-1]]}


def in_responses(*called):
    items = [item for i, name in enumerate(called) for item in (
        {"type": "function_call", "call_id": f"c{i}", "name": name, "arguments": "{}"},
        {"type": "function_call_output", "call_id": f"c{i}", "output": "ok"})]
    return {"model": "auto", "tool_choice": "auto", "input": [{"role": "user", "content": "Start."}, *items, after()["messages"][-1]]}


def in_functions(*called):
    turns = [{"role": "assistant", "content": None, "function_call": {"name": name, "arguments": "{}"}} for name in called]
    return {**after(), "messages": [*turns, after()["messages"][-1]]}


@pytest.mark.parametrize("made,path", [(in_messages, "/v1/messages"), (in_responses, "/v1/responses"),
                                       (in_functions, "/v1/chat/completions")])
def test_calls_are_read_in_each_api(sites, made, path):
    post = sites("history", history)
    for last, then in PLANS[:3]:
        assert names(post(made(last, then, last), path)[0]) == [then]


def test_history_is_weighed_with_the_meaning(sites):
    asked = {**after("get_weather", "send_email", "get_weather")}
    asked["messages"][-1] = {"role": "user", "content": "What is 17 percent of 2,340?"}
    for weight, wanted in ((0.01, "calculate"), (100, "send_email")):
        post = sites(f"weighed {weight}", lambda d, w=weight: history(d, weights={"semantic": 1, "history": w}))
        assert names(post(asked)[0]) == [wanted]


def test_too_little_history_leaves_the_meaning_alone(sites):
    plan = ("run_sql", "play_music", "run_sql")
    alone = names(sites("alone", lambda d: config(database(d), ("tool_selection", {
        "mode": "add", "top_k": 1, "similarity_threshold": -1})))(after(*plan))[0])
    assert alone != ["play_music"]
    sure = sites("sure", lambda d: history(d, min_history_confidence=0.5, history_window=8))
    assert names(sure(after(*plan))[0]) == alone
    assert names(sure(after("run_sql", "play_music", "run_sql", "play_music", "run_sql"))[0]) == ["play_music"]
    assert names(sure(after())[0]) == alone


def test_history_brings_in_no_tool_that_does_not_fit(sites):
    """A client writes calls into its history: thresholds and lists hold, and names of no tool do nothing."""
    plan = ["get_weather", "run_sql"] * 40 + ["get_weather"]
    strict = sites("history strict", lambda d: history(d, {"similarity_threshold": 0.9, "top_k": 12}))
    assert names(strict(after(*plan))[0]) == []
    def listed(directory):
        made = history(directory)
        made["routing"]["decisions"][0]["plugins"][0]["configuration"] |= {"mode": "filtered", "block_tools": ["run_sql"]}
        return made
    assert "run_sql" not in names(sites("history listed", listed)(after(*plan))[0])
    open_ = sites("history", history)
    assert names(open_(after(*plan))[0]) == ["run_sql"]
    assert set(names(open_(after("no_such", "\u0000", "no_such"))[0])) <= set(TOOLS)


def test_tools_that_stay_are_the_clients_bytes(sites, mock):
    own = ('{ "type":"function",\t"function" : {"name": "run_sql", "description":"\\u00e9 does  things" , "parameters":{}} }')
    post = sites("history filter", lambda d: history(d, {"mode": "filter", "relevance_threshold": 1, "preserve_count": 1}))
    asked = json.dumps({**after("calculate", "run_sql", "calculate"), "tools": ["@", tool("calculate"), tool("play_music")]})
    post(asked.replace('"@"', own).encode())
    assert own in mock.last_body(1).decode() and names(json.loads(mock.last_body(1))) == ["run_sql"]


@pytest.mark.parametrize("strip", [False, True])
def test_no_tools_at_all(sites, strip):
    post = sites(f"none {strip}", lambda d: config(database(d), ("tools", {"mode": "none", "strip_tool_history": strip})))
    arrived, _ = post({**body("", *TOOLS), "messages": HISTORY, "functions": [], "function_call": "auto"})
    assert not {"tools", "tool_choice", "functions", "function_call"} & set(arrived)
    if strip:
        assert arrived["messages"] == [HISTORY[0], {"role": "assistant", "content": "No."}, HISTORY[4]]
    else:
        assert arrived["messages"] == HISTORY


def test_a_request_without_tools_gets_those_of_the_database(sites):
    post = sites("plain", lambda d: config(database(d), ("tools", {"mode": "passthrough"})))
    assert "get_weather" in names(post(body("Will it rain in Lisbon tomorrow?"))[0])
    assert names(post(body("Will it rain in Lisbon tomorrow?", "run_sql"))[0]) == ["run_sql"]
    assert "tools" not in post({k: v for k, v in body("Will it rain?").items() if k != "tool_choice"})[0]


def test_words_names_and_categories_count(sites):
    advanced = {"enabled": True, "weights": {"embed": 0, "name": 1}, "min_combined_score": 0.4, "block_tools": ["play_music"]}
    post = sites("advanced", lambda d: config(database(d), ("tool_selection", {"mode": "add", "similarity_threshold": -1}),
                                              advanced_filtering={**advanced, "candidate_pool_size": 100}))
    assert names(post(body("food music email"))[0]) == ["send_email", "order_food"]


def test_a_database_that_is_not_there_adds_nothing(start, tmp_path):
    mock = start.mock()
    made = config(tmp_path / "absent.json", ("tool_selection", {"mode": "add"}))
    gateway = start.gateway(json.dumps(made).replace("@0", f"127.0.0.1:{mock.port}").replace("@1", f"127.0.0.1:{mock.port + 1}"))
    assert gateway.post(body("Will it rain?", "run_sql")).status == 200
    assert names(json.loads(mock.last_body(1))) == ["run_sql"]
    until(lambda: "tool_database_missing" in gateway.output())


def test_check_says_where_a_database_is_missing(tmp_path):
    absent, other = tmp_path / "absent.json", tmp_path / "other.json"
    for plugin, file in ((("tool_selection", {"mode": "add"}), absent),
                         (("tool_selection", {"mode": "add", "tools_db_path": str(other)}), other),
                         (("tools", {"enabled": True, "mode": "passthrough", "semantic_selection": True}), absent)):
        made = write(config(absent, plugin), tmp_path / "c.yaml", 1)
        done = semroute("check", made)
        said = [line for line in done.stdout.splitlines() if "is not there: no tools are added from it" in line]
        assert done.returncode == 0 and len(said) == 1, done.stdout
        line, column = map(int, said[0].removeprefix(f"{made}:").split(":")[:2])
        assert f": warning: `tools_db_path`: `{file}`" in said[0]
        assert made.read_text().splitlines()[line - 1][column - 1:].startswith(f'"{file}"'), said


def test_a_damaged_database_is_an_error_with_its_line(tmp_path):
    import subprocess
    file = tmp_path / "tools_db.json"
    file.write_text('[\n {"tool": {"type": "function", "function": {"name": "a"}}, "description": "d"},\n {"tool": 7}\n]')
    made = write(config(file, ("tool_selection", {"mode": "add"})), tmp_path / "c.yaml", 1)
    done = subprocess.run([BINARY, "serve", "-c", made, "--gateway", "off", "--api", "off", "--metrics", "off"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "line 3: tool 2 has no object `tool`" in done.stderr


def test_vectors_are_kept(start, tmp_path):
    mock = start.mock()
    file = database(tmp_path)
    made = json.dumps(config(file, ("tool_selection", {"mode": "add"})))
    made = made.replace("@0", f"127.0.0.1:{mock.port}").replace("@1", f"127.0.0.1:{mock.port + 1}")
    start.gateway(made)
    kept = file.with_name("tools_db.json.vectors")
    first = kept.read_bytes()
    assert len(first) > len(TOOLS) * 384 * 4
    kept.write_bytes(first[:-7])  # damaged: it is made anew
    gateway = start.gateway(made)
    assert kept.read_bytes() == first
    assert gateway.post(body("Will it rain in Lisbon?")).status == 200
    assert "get_weather" in names(json.loads(mock.last_body(1)))
