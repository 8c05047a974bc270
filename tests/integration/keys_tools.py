"""Keys of tools: which tools arrive upstream."""
import json

from keys_offline import D, Key, said
from keys_online import served
from test_tools import HISTORY, after, body, config, database, names

TOOLS_AT = "global.integrations.tools."
PLUGINS = "routing.decisions[].plugins[tools].configuration."
SELECTION = "routing.decisions[].plugins[tool_selection].configuration."
ADD = ("tool_selection", {"mode": "add", "similarity_threshold": -1})
FILL = ("tools", {"mode": "passthrough"})
RAIN = "Will it rain in Lisbon tomorrow?"


def placed(config, bench):
    """The configuration with its database, which stands in the bench's folder."""
    text = json.dumps(config).replace("DATABASE", str(database(bench.directory)))
    return json.loads(text)


def refused(path, config, values, text):
    """The second value is refused with this text."""
    say = said("good", text)
    return Key(path, config, values, lambda config, bench: say(placed(config, bench), bench), ("good", text))


def arrived(look, request=None):
    def see(config, bench):
        def ask(gateway, bench):
            assert gateway.post(request or body(RAIN)).status == 200
            return look(json.loads(bench.mock.last_body(1)))
        return served(ask)(placed(config, bench), bench)
    return see


def count(request=None):
    return arrived(lambda sent: len(names(sent)), request)


def kept(config, bench):
    """The vectors of the database are kept in a file of this name."""
    made = placed(config, bench)
    path = made["global"]["semroute"].get("tool_vectors")
    if path == "here":
        path = made["global"]["semroute"]["tool_vectors"] = str(bench.directory / "here.vectors")
    with bench.serve(made):
        return path != "off" and (bench.directory / "here.vectors").exists()


def own(*plugins, **tools):
    made = config("DATABASE", *plugins, **tools)
    made["global"]["semroute"]["tool_vectors"] = "off"
    return made


WORDS = body("food music email")
PROOF = body("Prove by induction that the sum of the first n odd numbers is n squared.")


def first(request):
    return arrived(lambda sent: (names(sent) or [None])[0], request)


def advanced(key, given, values, see, seen, weights=None, by_domain=False):
    """A key of advanced_filtering in both places: of all plugins, and of one."""
    settings = {"enabled": True, "weights": {"embed": 0, **(weights or {})}, "candidate_pool_size": 100, **given}
    everywhere = own(ADD, advanced_filtering=settings)
    here = own(("tool_selection", {**ADD[1], "advanced_filtering": settings}))
    for made in (everywhere, here):
        if by_domain:
            made["routing"]["signals"]["domains"] = [{"name": "math"}]
            made["routing"]["decisions"][0]["rules"] = {"type": "domain", "name": "math"}
    return [Key(TOOLS_AT + "advanced_filtering." + key, everywhere, values, see, seen),
            Key(SELECTION + "advanced_filtering." + key, here, values, see, seen)]


def weight(name, request, seen, by_domain=False):
    """With this weight alone the first tool for the request; with none no score is enough."""
    return advanced("weights." + name, {"min_combined_score": 0.01}, (0, 1), first(request), (None, seen), by_domain=by_domain)


def asked(*called):
    """A question of arithmetic after these calls."""
    made = after(*called)
    made["messages"][-1] = PROOF["messages"][-1]
    return made


DYNAMIC = PLUGINS + "dynamic_retrieval."
NEXT = first(asked("send_email", "run_sql", "send_email"))


def dynamic(weights=None, **settings):
    """What was called before weighs more than the question."""
    return own(("tools", {"dynamic_retrieval": {"enabled": True, "strategy": "hybrid_history", "weights":
                                                {"semantic": 1, "history": 10, **(weights or {})}, **settings}}), ADD)


def by_domain(made):
    made["routing"]["signals"]["domains"] = [{"name": "math"}]
    made["routing"]["decisions"][0]["rules"] = {"type": "domain", "name": "math"}
    return made


KEYS = [
    Key("global.semroute.tool_vectors", own(ADD), ("off", "here"), kept, (False, True)),
    Key(TOOLS_AT + "enabled", own(FILL), (True, False), count(), (1, 0)),
    Key(TOOLS_AT + "top_k", own(FILL, similarity_threshold=-1), (2, 4), count(), (2, 4)),
    Key(TOOLS_AT + "similarity_threshold", own(FILL), (-1, 1), count(), (3, 0)),
    Key(TOOLS_AT + "tools_db_path", own(FILL, similarity_threshold=-1), ("DATABASE", "/absent"), count(), (3, 0)),
    Key(TOOLS_AT + "fallback_to_empty", own(("tool_selection", {"mode": "filter", "relevance_threshold": 1})), (True, False),
        arrived(lambda sent: sent.get("tools"), body(RAIN, "run_sql")), (None, [])),
    *advanced("enabled", {"allow_tools": ["run_sql"]}, (False, True), count(), (3, 1)),
    *advanced("candidate_pool_size", {}, (1, 2), count(), (1, 2)),
    *advanced("min_lexical_overlap", {}, (1, 3), count(body("weather forecast")), (1, 0)),
    *advanced("min_combined_score", {}, (0.1, 1), count(WORDS), (3, 0), {"name": 1}),
    *advanced("use_category_filter", {}, (False, True), count(PROOF), (3, 1), by_domain=True),
    *advanced("category_confidence_threshold", {"use_category_filter": True}, (0, 1), count(PROOF), (1, 3), by_domain=True),
    *advanced("allow_tools[]", {"allow_tools": ["run_sql"]}, ("run_sql", "calculate"), first(WORDS), ("run_sql", "calculate")),
    *advanced("block_tools[]", {"allow_tools": ["run_sql"], "block_tools": ["run_sql"]}, ("run_sql", "calculate"), count(), (0, 1)),
    *weight("embed", body(RAIN), "get_weather"),
    *weight("lexical", body("weather forecast city"), "get_weather"),
    *weight("name", WORDS, "send_email"),
    *weight("tag", WORDS, "send_email"),
    *weight("category", PROOF, "calculate", by_domain=True),
    refused(D + "plugins[tools].type", own(FILL), ("tools", "tool"), "unknown plugin `tool`"),
    refused(D + "plugins[tool_selection].type", own(ADD), ("tool_selection", "rag"), "is not supported"),
    Key(PLUGINS + "enabled", own(("tools", {"mode": "none"})), (True, False), count(body(RAIN, "run_sql")), (0, 1)),
    Key(PLUGINS + "mode", own(("tools", {"mode": "none"})), ("none", "passthrough"), count(body(RAIN, "run_sql")), (0, 1)),
    Key(PLUGINS + "semantic_selection", own(FILL), (True, False), count(), (1, 0)),
    Key(PLUGINS + "allow_tools[]", own(("tools", {"mode": "filtered", "allow_tools": ["run_sql"]})), ("run_sql", "calculate"),
        count(body(RAIN, "run_sql")), (1, 0)),
    Key(PLUGINS + "block_tools[]", own(("tools", {"mode": "filtered", "block_tools": ["run_sql"]})), ("run_sql", "calculate"),
        count(body(RAIN, "run_sql")), (0, 1)),
    Key(PLUGINS + "strip_tool_history", own(("tools", {"mode": "none"})), (False, True),
        arrived(lambda sent: len(sent["messages"]), {**body(""), "messages": HISTORY}), (5, 3)),
    Key(PLUGINS + "strategy", dynamic(enabled=False), ("default", "hybrid_history"), NEXT, ("calculate", "run_sql")),
    Key(DYNAMIC + "enabled", dynamic(), (False, True), NEXT, ("calculate", "run_sql")),
    Key(DYNAMIC + "strategy", dynamic(), ("semantic_only", "hybrid_history"), NEXT, ("calculate", "run_sql")),
    Key(DYNAMIC + "history_window", dynamic(), (1, 3), NEXT, ("calculate", "run_sql")),
    Key(DYNAMIC + "weights.semantic", dynamic({"history": 1}), (1, 100), NEXT, ("run_sql", "calculate")),
    Key(DYNAMIC + "weights.history", dynamic(), (0, 10), NEXT, ("calculate", "run_sql")),
    Key(DYNAMIC + "weights.decision_prior", by_domain(dynamic(weights={"semantic": 0, "history": 1})), (0, 100), NEXT,
        ("run_sql", "calculate")),
    Key(DYNAMIC + "weights.repetition_penalty", dynamic(), (0, 100), first(asked("run_sql", "send_email", "run_sql", "send_email")),
        ("run_sql", "calculate")),
    Key(DYNAMIC + "min_history_confidence", dynamic(), (0, 1), NEXT, ("run_sql", "calculate")),
    Key(DYNAMIC + "fallback_on_low_confidence", dynamic(min_history_confidence=1), (True, False), NEXT, ("calculate", "run_sql")),
    Key(SELECTION + "enabled", own(ADD), (True, False), count(), (3, 0)),
    Key(SELECTION + "mode", own(ADD), ("add", "filter"), count(body(RAIN, "run_sql")), (4, 0)),
    Key(SELECTION + "tools_db_path", own(ADD), ("DATABASE", "/absent"), count(), (3, 0)),
    Key(SELECTION + "top_k", own(ADD), (2, 4), count(), (2, 4)),
    Key(SELECTION + "similarity_threshold", own(ADD), (-1, 1), count(), (3, 0)),
    Key(SELECTION + "fallback_to_empty", own(("tool_selection", {"mode": "filter", "relevance_threshold": 1})), (True, False),
        arrived(lambda sent: sent.get("tools"), body(RAIN, "run_sql")), (None, [])),
    Key(SELECTION + "strategy", own(ADD), ("default", "hybrid_history"), NEXT, ("calculate", "run_sql")),
    Key(SELECTION + "relevance_threshold", own(("tool_selection", {"mode": "filter"})), (-1, 1), count(body(RAIN, "run_sql")), (1, 0)),
    Key(SELECTION + "preserve_count", own(("tool_selection", {"mode": "filter", "relevance_threshold": 1})), (0, 1),
        count(body(RAIN, "run_sql")), (0, 1)),
]
