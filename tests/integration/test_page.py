"""The live page, in a real headless Chromium: what it shows, what it costs, who may use it, and what never leaves.

PAGE_SECONDS and PAGE_RATE make the flood longer (`make nightly`); PAGE_PICTURES is a folder that gets the pictures of the docs."""
import contextlib
import http.client
import json
import os
import pathlib
import re

import pytest

from browser import Browser
from conftest import request
from page_site import PROMPTS, SECRETS, TOKEN, Flood, Site
from test_replay import until

ROWS = "document.querySelectorAll('.requests tbody tr').length"
LIVE = "return document.querySelector('#connection').dataset.state === 'live'"
NO_SCROLL = "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
VIEWS = ["live", "overview", "playground", "configuration", "models"]
PICTURE_MAX = 100 << 10


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def site(stack, tmp_path):
    return Site(stack, tmp_path)


@pytest.fixture
def browser(stack, tmp_path):
    browser = Browser(tmp_path)
    stack.callback(browser.stop)
    return browser


def show(browser, site, view):
    """The view with all that it loads."""
    browser.open(f"{site.url}#{view}")
    browser.wait("return document.querySelector('#main').dataset.view === arguments[0]", view)
    ready = {"live": LIVE, "overview": "return Boolean(document.querySelector('#main').dataset.ready)", "playground": "return Boolean(document.querySelector('#prompt'))",
             "configuration": "return Boolean(document.querySelector('pre'))", "models": "return document.querySelectorAll('.model').length === 3"}
    browser.wait(ready[view])


def rows(browser, count):
    return browser.wait(f"return {ROWS} >= arguments[0]", count)


def open_row(browser, decision):
    browser.wait("""const b = [...document.querySelectorAll('button.open')].find(b => b.textContent === arguments[0]);
                    if (b) b.click(); return Boolean(b) && !document.querySelector('#opened').hidden""", decision)
    return browser.text("#opened")


def test_requests_show_as_they_happen_and_open(site, browser):
    show(browser, site, "live")
    assert "Earlier ones show where router_replay keeps them" in browser.text("#main")
    assert site.ask(PROMPTS[0], "acme").status == 200
    rows(browser, 1)
    site.ask(PROMPTS[2], "globex", stream=True)
    site.ask(PROMPTS[9])
    site.ask(f"Write to anna.schmidt@example.com that {SECRETS['prompt']}.")
    rows(browser, 4)
    opened = open_row(browser, "science")
    for words in ("science → large", "In the router", "At the model", "domain: math", "NOT", "keyword: code", "Candidates", "chosen", "large-0", "Edits of the body", "model", "acme", "Tokens and cost"):
        assert words in opened, words
    assert browser.count("#opened .waterfall .bar") >= 4
    assert "stream" in open_row(browser, "programming")
    blocked = open_row(browser, "block-attacks")
    assert "blocked" in blocked and "jailbreak" in blocked and "no model" in blocked
    assert "the guard block-attacks blocks the request" in blocked and "default model" not in blocked
    tree = browser.run("return [...document.querySelectorAll('.trees details')].map(d => [d.querySelector('.leaf').textContent, d.open, d.innerText])")
    assert [name for name, _, _ in tree] == ["block-attacks", "hide-private", "programming", "science"]
    assert [is_open for _, is_open, _ in tree] == [True, False, False, False] and re.search(r"jailbreak: attack\s*yes\s*\d\.\d\d", tree[0][2])
    browser.until(lambda: open_row(browser, "hide-private") and browser.count("button.texts"))  # it knows what replay keeps
    hidden = open_row(browser, "hide-private")
    assert "EMAIL_ADDRESS" in hidden and re.search(r"message, turn 0\s+\d+–\d+", hidden) and "redaction" in hidden
    assert "anna.schmidt" not in hidden and SECRETS["prompt"] not in browser.run("return document.documentElement.outerHTML")
    browser.click("button.texts")  # the configuration keeps bodies, and someone asks for this one
    browser.wait("return document.querySelectorAll('pre.text').length === 1")
    assert SECRETS["prompt"] in browser.text("pre.text") and "anna.schmidt" not in browser.text("pre.text")
    browser.key("Escape")
    browser.wait("return document.querySelector('#opened').hidden && document.activeElement.classList.contains('open')")
    assert browser.console() == []


def test_filters(site, browser):
    show(browser, site, "live")
    filters = [("outcome", "blocked", {"block-attacks"}), ("decision", "science", {"science"}),
               ("model", "coder", {"programming"})]
    for asked, (name, value, expected) in enumerate(filters, 1):
        browser.set(f"#filter-{name}", value)
        followed(browser, f"{name}={value}")
        for text in (PROMPTS[9], PROMPTS[0], PROMPTS[2]):
            site.ask(text)
        rows(browser, 1)
        assert set(browser.run("return [...document.querySelectorAll('button.open')].map(b => b.textContent)")) == expected
        until(lambda: kept(site), lambda n: n == 3 * asked)
        browser.set(f"#filter-{name}", "")
        rows(browser, 3)  # what replay kept of all of them
    browser.set("#filter-tenant", "globex")
    browser.set("#filter-min_ms", "0")
    followed(browser, "tenant=globex&min_ms=0")
    site.ask(PROMPTS[0], "acme")
    site.ask(PROMPTS[2], "globex")
    rows(browser, 1)
    assert browser.run("return [...document.querySelectorAll('button.open')].map(b => b.textContent)") == ["programming"]


def test_earlier_requests_show_where_replay_keeps_them(site, browser):
    for text in (PROMPTS[0], PROMPTS[9], PROMPTS[2]):
        site.ask(text, "acme")
    until(lambda: kept(site), lambda n: n == 3)
    show(browser, site, "live")
    rows(browser, 3)
    assert browser.run("return [...document.querySelectorAll('button.open')].map(b => b.textContent)") == ["programming", "block-attacks", "science"]
    opened = open_row(browser, "science")
    assert "ended before the page was opened" in opened and "Candidates" in opened and "domain, linear" in opened
    site.ask(PROMPTS[2], "globex")
    rows(browser, 4)
    assert "ended before the page was opened" not in open_row(browser, "programming")
    assert browser.run(f"return {ROWS}") == 4  # none is shown twice
    assert browser.console() == []


def kept(site):
    return request(site.gateway.api_port, "GET", "/v1/router_replay").json()["count"]


def followed(browser, query):
    """The router follows this filter for the page."""
    browser.wait("return document.querySelector('#main').dataset.following?.includes(arguments[0])", query)


def test_playground_explains_what_is_in_use_and_a_draft(site, browser):
    asked = site.mock.last_body(2)
    for text in (PROMPTS[0], PROMPTS[2], "hello"):
        assert site.ask(text).status == 200
    until(lambda: kept(site), lambda n: n >= 3)
    asked = site.mock.last_body(2)
    show(browser, site, "playground")
    browser.write("#prompt", "Prove that there are infinitely many primes, then write it as a python function.")
    browser.click("button.primary")
    browser.wait("return document.querySelectorAll('.answer').length === 1")
    assert "programming → coder" in browser.text(".answer") and "keyword: code" in browser.text(".answer")
    browser.click("#use-draft")
    browser.wait("return document.querySelector('#draft').value.startsWith('routing:')")
    edited = browser.run("return document.querySelector('#draft').value")
    assert edited.count("- model: coder") == 1
    browser.set("#draft", edited.replace("- model: coder", "- model: large"))
    browser.click("button.primary")
    browser.wait("return document.querySelectorAll('.answer').length === 2")
    assert "The draft decides otherwise." in browser.text("#main") and "programming → large" in browser.text(".answer:last-child")
    browser.click("#compare")
    browser.wait("return document.querySelectorAll('#diff tbody tr').length >= 3 && document.querySelector('#compare').getAttribute('aria-disabled') === 'false'")
    assert "differs" in browser.text("#diff") and "same" in browser.text("#diff")
    differing = browser.run("return [...document.querySelectorAll('#diff tbody tr')].map(r => [...r.children].slice(1).map(c => c.textContent))")
    assert differing[0] == ["differs", "programming → coder", "programming → large", "programming → coder"]  # those come first
    assert all(line[0] == "same" and line[1] == line[2] for line in differing[1:])
    browser.set("#draft", "routing:\n  decisions:\n    - name: 5\n      prioritty: 1\n")
    browser.click("button.primary")
    browser.wait("return document.querySelectorAll('.answer .problems li').length > 0")
    assert "line 4" in browser.text(".answer .problems") and "priority" in browser.text(".answer .problems")
    assert site.mock.last_body(2) == asked  # no model was asked
    assert site.ask(PROMPTS[2]).headers.get("x-vsr-selected-decision") == "programming"  # nothing was applied
    assert browser.console() == []


def test_overview_configuration_and_models(site, browser):
    site.traffic(12)
    show(browser, site, "overview")
    browser.wait("return document.querySelector('.cards').innerText.includes('hide-private') || document.querySelector('.cards').innerText.includes('block-attacks')")
    text = browser.text("#main")
    for words in ("small", "Tokens", "Cost", "routed", "good", "127.0.0.1"):
        assert words in text, words
    show(browser, site, "configuration")
    text = browser.text("#main")
    assert "file in use" in text and re.search(r"Revision\s+[0-9a-f]{16}", text) and "[redacted]" in text
    path = site.gateway.config_path
    fresh = path.with_suffix(".new")
    fresh.write_text(path.read_text().replace('"version"', '"nonsense": 1, "version"', 1))
    fresh.rename(path)  # at once: half a file would be another mistake
    until(lambda: request(site.gateway.api_port, "GET", "/api/v1/page/configuration").json().get("reload", {}).get("failed"), bool)
    show(browser, site, "models")
    show(browser, site, "configuration")
    text = browser.text("#main")
    assert "last reload failed" in text and "file changed since it was loaded" in text and "nonsense" in text
    show(browser, site, "models")
    assert "Mathematics, science and long reasoning." in browser.text("#main") and "with a key" in browser.text("#main")


def test_everyone_can_use_it(site, browser):
    """axe finds nothing in any view and scheme; no view scrolls sideways at 360 px; the keyboard reaches all."""
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        for view in VIEWS:
            show(browser, site, view)
            if view == "live":
                site.ask(PROMPTS[0])
                site.ask(PROMPTS[8])
                rows(browser, 2)
                open_row(browser, "science")
            if view == "playground":
                browser.click("#use-draft")
                browser.wait("return document.querySelector('#draft').value.length > 10")
                browser.click("button.primary")
                browser.wait("return document.querySelectorAll('.answer').length === 2")
            assert browser.accessibility() == [], (view, scheme)
            browser.resize(360, 780)
            assert browser.run(NO_SCROLL), (view, scheme, browser.run("return [...document.querySelectorAll('*')].filter(n => n.getBoundingClientRect().right > 361).map(n => n.outerHTML.slice(0, 120)).slice(0, 5)"))
            assert browser.accessibility() == [], (view, scheme, "360 px")
            browser.resize(1360, 900)
    ground = "return getComputedStyle(document.body).backgroundColor"
    dark = browser.run(ground)
    browser.colours("light")
    assert browser.run(ground) != dark
    browser.click("#theme")
    browser.click("#theme")
    assert browser.run(ground) == dark  # chosen by hand
    show(browser, site, "live")
    browser.run("document.activeElement.blur()")
    reached = set()
    for _ in range(24):
        browser.key("Tab")
        reached.add(browser.run("const n = document.activeElement; return n.id || n.hash || n.className || n.textContent"))
    assert {"#live", "#overview", "#playground", "#configuration", "#models", "theme", "filter-model", "filter-max_ms"} <= reached
    assert browser.console() == []


def test_policy_of_the_page_holds(site, browser):
    show(browser, site, "live")
    violations = browser.on("POST", "/execute/async", {"args": [], "script": """
        const done = arguments[0], seen = [];
        document.addEventListener('securitypolicyviolation', e => { seen.push(e.effectiveDirective); if (seen.length >= 3) done(seen); });
        const script = document.createElement('script'); try { script.text = 'window.broken = 1'; } catch { seen.push('trusted types'); } document.head.append(script);
        const style = document.createElement('style'); style.textContent = 'body { display: none }'; document.head.append(style);
        document.body.setAttribute('style', 'display: none');
        fetch('http://127.0.0.1:1/').catch(() => {});
        setTimeout(() => done(seen), 20000);"""})
    assert len(violations) >= 3 and not browser.run("return window.broken || getComputedStyle(document.body).display === 'none'")
    head = request(site.gateway.api_port, "GET", "/ui/").headers
    policy = head["content-security-policy"]
    assert "script-src 'self'" in policy and "style-src 'self'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert head["x-content-type-options"] == "nosniff" and head["referrer-policy"] == "no-referrer"


def refused(browser, count):
    """So many answers wanted another token: none of the page's two calls is left that would ask for one later."""
    browser.wait("""return performance.getEntriesByType('resource').filter(r => r.responseStatus === 401).length
                    >= arguments[0]""", count)


def test_token_is_asked_for_once(stack, tmp_path, browser):
    site = Site(stack, tmp_path, token=TOKEN)
    browser.open(site.url)
    browser.wait("return document.querySelector('#login').open")
    refused(browser, 2)
    assert browser.accessibility() == []
    browser.write("#token", "a wrong one")
    browser.key("Enter")
    browser.wait("return document.querySelector('#login-error').textContent.length > 0 && document.querySelector('#login').open")
    refused(browser, 4)
    browser.write("#token", TOKEN)
    browser.key("Enter")
    browser.wait(LIVE)
    site.ask(PROMPTS[0])
    rows(browser, 1)
    for path in ("/api/v1/page/configuration", "/api/v1/page/metrics", "/api/v1/requests/events"):
        assert request(site.gateway.api_port, "GET", path).status == 401
    assert request(site.gateway.api_port, "POST", "/api/v1/page/draft", {}).status == 401


def test_other_sites_may_not(site):
    port = site.gateway.api_port

    def ask(method, path, body=None, **headers):
        return request(port, method, path, body, {k.replace("_", "-"): v for k, v in headers.items()}).status

    assert ask("GET", "/ui/") == 200 and ask("GET", "/ui") == 308 and ask("POST", "/ui/") in (405, 415)
    assert ask("GET", "/ui/none.js") == 404 and request(site.gateway.port, "GET", "/ui/").status == 404
    assert request(site.gateway.metrics_port, "GET", "/ui/").status == 404
    for path in ("/ui/", "/api/v1/page/configuration", "/api/v1/page/metrics", "/api/v1/requests/events"):
        assert ask("GET", path, host="evil.example") == 403  # a name that was pointed here
        assert ask("GET", path, origin="http://evil.example") == 403
        assert ask("GET", path, sec_fetch_site="cross-site") == 403
    draft = json.dumps({"routing": "routing: {}", "text": "x"})
    for path in ("/api/v1/page/draft", "/api/v1/explain"):
        assert ask("POST", path, draft, origin="http://evil.example", content_type="application/json") == 403
        assert ask("POST", path, draft, host="evil.example", content_type="application/json") == 403
        assert ask("POST", path, draft, content_type="text/plain") == 415
        assert ask("GET", path) in (404, 405)


def draft(site, routing, text="hello"):
    return request(site.gateway.api_port, "POST", "/api/v1/page/draft", {"routing": routing, "text": text}, timeout=60)


def test_draft_reads_and_changes_nothing(site, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"version": "the-content-of-a-file-5512"}')
    with_key = "routing: {decisions: [{name: d, modelRefs: [{model: small}], %s}]}"
    for routing in ("routing: {decisions: [{name: d, description: '${PAGE_VARIABLE}', modelRefs: [{model: small}]}]}",
                    "routing: {decisions: [{name: '${PAGE_VARIABLE}', modelRefs: [{model: small}]}]}",
                    f"routing: {{decisions: [{{name: '${{file:{secret}}}', modelRefs: [{{model: small}}]}}]}}",
                    with_key % f"algorithm: {{type: knn, knn: {{pretrained_path: {secret}}}}}",
                    with_key % f"algorithm: {{type: learned, learned: {{model: {secret}}}}}",
                    with_key % f"plugins: [{{type: tool_selection, configuration: {{tools_db_path: {secret}}}}}]",
                    f"routing: {{signals: {{kb: [{{name: k, source: {{path: {secret}}}}}]}}}}",
                    f"global: {{semroute: {{access_log: {tmp_path / 'made.log'}}}}}\nrouting: {{}}", "&a [*a]", "routing: {", "x" * (200 << 10), "--- {}\n--- {}"):
        answer = draft(site, routing)
        assert answer.status == 200 and not answer.json()["good"] and answer.json()["problems"], routing[:80]
        assert b"5512" not in answer.body and SECRETS["variable"].encode() not in answer.body
    assert not (tmp_path / "made.log").exists()
    for body in ("{", "[]", '{"text": "x"}', '{"routing": 5, "text": "x"}', '{"routing": "routing: {}"}'):
        assert request(site.gateway.api_port, "POST", "/api/v1/page/draft", body, {"content-type": "application/json"}).status == 400
    good = draft(site, "routing: {decisions: [{name: d, modelRefs: [{model: large}]}]}")
    assert good.json()["explanation"]["model"] == "large"
    assert draft(site, "routing: {decisions: [{name: d, modelRefs: [{model: large}]}]}", "again").json()["good"]  # the one that is kept
    assert site.ask("hello").headers.get("x-vsr-selected-model") == "small"


def events(site, ask):
    """What the page's stream says of the requests that `ask` makes."""
    connection = http.client.HTTPConnection("127.0.0.1", site.gateway.api_port, timeout=60)
    connection.request("GET", "/api/v1/requests/events?why=1")
    stream = connection.getresponse()
    count, found = ask(), []
    while len(found) < count:
        line = stream.readline()
        assert line, "the stream has ended"
        if line.startswith(b"data: "):
            found.append(json.loads(line[6:]))
    connection.close()
    return found


def test_how_a_request_came_about(site):
    def ask():
        site.ask(PROMPTS[0])
        site.ask(PROMPTS[8])
        site.gateway.post(b"{")
        return 3
    science, private, refused = events(site, ask)
    why = science["why"]
    moments = why["moments"]
    assert moments["body_complete_us"] <= moments["decided_us"] <= moments["verdict_us"] <= moments["ended_us"]
    assert {"signals", "edit body"} <= {phase["name"] for phase in why["phases"]}
    assert all(phase["start_us"] <= phase["end_us"] for phase in why["phases"])
    assert why["tries"][0]["target"] == "large-0" and why["tries"][0]["status"] == 200
    won = next(d for d in why["rules"]["decisions"] if d["name"] == "science")
    assert won["matched"] and won["rules"]["operator"] == "AND" and won["rules"]["conditions"][1]["operator"] == "NOT"
    assert why["worker"]["name"] == "large-0" and why["splices"][0]["inserted"] > 0
    finding, = [f for f in private["why"]["findings"] if f["type"] == "EMAIL_ADDRESS"]
    assert (finding["start"], finding["end"], finding["action"]) == (PROMPTS[8].index("anna"), PROMPTS[8].index(","), "redact")
    assert refused["request"]["outcome"] == "refused" and "rules" not in refused["why"]


def test_no_secret_leaves(site):
    """Not by the stream, the configuration, the metrics, the draft's mistakes or the page's own files."""
    port = site.gateway.api_port

    def ask():
        for stream in (False, True):
            site.ask(f"python: {SECRETS['prompt']}", stream=stream)
        return 2
    answers = [json.dumps(event) for event in events(site, ask)]
    for path in ("/api/v1/page/configuration", "/api/v1/page/metrics", "/ui/", "/ui/main.js"):
        answers.append(request(port, "GET", path).body.decode())
    routing = json.loads(answers[2])["routing"]
    answers.append(draft(site, routing).body.decode())
    assert json.loads(answers[-1])["good"], answers[-1]  # what the page shows is a draft that is good
    answers.append(draft(site, routing.replace("keyword", "kayword")).body.decode())
    for name, secret in SECRETS.items():
        for answer in answers:
            assert secret not in answer, name


def test_files_are_small(site):
    total = 0
    for name in ("", "page.css", "main.js", "api.js", "dom.js", "live.js", "request.js", "overview.js", "playground.js", "setup.js", "icon.svg"):
        answer = request(site.gateway.api_port, "GET", f"/ui/{name}")
        assert answer.status == 200
        total += len(answer.body)
        assert b"https://" not in answer.body and b"innerHTML" not in answer.body
    assert total < 150 << 10


def test_many_requests_leave_memory_flat(stack, tmp_path, browser):
    """A flood, in which the page shows a sample and stays usable; both sides keep no more than at its begin."""
    seconds, rate = int(os.environ.get("PAGE_SECONDS", "6")), int(os.environ.get("PAGE_RATE", "500"))
    site = Site(stack, tmp_path, replay=False)  # replay fills its own memory first
    show(browser, site, "live")
    flood = Flood(site, rate)
    try:
        browser.wait(f"return {ROWS} >= 150")
        grown = browser.until(lambda: flood.asked, lambda n: n > 5000 or flood.errors, patience=240)  # the ring and the list are full
        heap, resident = browser.heap(), site.gateway.rss_kib()
        browser.until(lambda: flood.asked, lambda n: n >= grown + rate * seconds or flood.errors, patience=20 * seconds + 60)
        assert not flood.errors
        open_row(browser, "no decision")  # it answers its user meanwhile
        assert browser.run(f"return {ROWS}") <= 200
        assert "more were left out" in browser.text("#main")
        heap_after, resident_after = browser.heap(), site.gateway.rss_kib()
    finally:
        flood.stop()
    print(f"{flood.asked} requests; page {heap >> 10} to {heap_after >> 10} KiB, router {resident} to {resident_after} KiB")
    assert heap_after < heap + (8 << 20) and resident_after < resident + (16 << 10)
    browser.open("about:blank")
    followers = re.compile(r"^semroute_followers (\d+)", re.MULTILINE)
    until(lambda: int(followers.search(site.gateway.metrics())[1]), lambda n: n == 0)


def test_pictures(site, browser, tmp_path):
    """The pictures of the docs are made by this test, so they show what is there."""
    folder = pathlib.Path(os.environ.get("PAGE_PICTURES", tmp_path))
    show(browser, site, "live")
    for text, tenant in ((PROMPTS[4], "acme"), (PROMPTS[9], "initech"), (PROMPTS[2], "globex"), (PROMPTS[8], "acme"), (PROMPTS[12], None), (PROMPTS[1], "acme"), (PROMPTS[7], "globex"),
                         (PROMPTS[3], "initech"), (PROMPTS[10], "acme"), (PROMPTS[13], "globex"), (PROMPTS[0], "acme"), (PROMPTS[5], "initech")):
        site.ask(text, tenant)
    rows(browser, 12)
    open_row(browser, "science")
    browser.run("document.activeElement.blur(); scrollTo(0, 0)")
    pictures = {}

    def take(name):
        pictures[name] = folder / f"page-{name}.png"
        browser.small_picture(pictures[name])
    take("requests")
    browser.colours("dark")
    browser.run("document.querySelector('#opened').scrollTo(0, document.querySelector('.trees').closest('.part').offsetTop - 12)")
    take("rules-dark")
    browser.colours("light")
    flood = Flood(site, 40)
    try:
        show(browser, site, "overview")
        site.traffic(40)
        browser.wait("return (document.querySelector('polyline')?.getAttribute('points') || '').split(' ').length >= 5")
        take("overview")
    finally:
        flood.stop()
    show(browser, site, "playground")
    browser.write("#prompt", PROMPTS[0])
    browser.click("#use-draft")
    browser.wait("return document.querySelector('#draft').value.startsWith('routing:')")
    browser.set("#draft", browser.run("return document.querySelector('#draft').value").replace("priority: 100", "priority: 100").replace("- model: large", "- model: coder"))
    browser.run("document.querySelector('#draft').rows = 6; document.querySelector('#draft').scrollTo(0, 1400)")
    browser.click("button.primary")
    browser.wait("return document.querySelectorAll('.answer').length === 2")
    browser.run("scrollTo(0, 0)")
    take("playground")
    for name, file in pictures.items():
        assert 5000 < file.stat().st_size < PICTURE_MAX, (name, file.stat().st_size)
