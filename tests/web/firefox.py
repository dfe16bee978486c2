"""Firefox as a distribution ships it, driven by WebDriver BiDi (w3c.github.io/webdriver-bidi): Playwright drives only a
Firefox of its own making. No more of it than the tests of the web edition need."""

import json
import re
import subprocess
import threading
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from websockets.sync.client import connect

LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
LOCAL = ("http://localhost:", "data:", "blob:", "about:", "moz-", "resource:", "chrome:")
# Firefox itself asks its maker for news unless it is told not to.
QUIET = """user_pref("network.captive-portal-service.enabled", false);
user_pref("network.connectivity-service.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""


SECONDS = 120  # for what never comes


@contextmanager
def opened(program: str, profile: Path):
    """Start Firefox with an empty profile, and end it."""
    (profile / "user.js").write_text(QUIET)
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    try:
        with connect(f"{address(process)}/session", max_size=None) as socket:
            yield Firefox(socket)
    finally:
        process.terminate()
        process.wait(30)


def address(process) -> str:
    watch = threading.Timer(SECONDS, process.kill)  # ends the reading below
    watch.start()
    found = next(filter(None, map(LISTENING.search, process.stderr)), None)
    watch.cancel()
    assert found, "Firefox did not say where it listens"
    threading.Thread(target=process.stderr.read, daemon=True).start()  # or its pipe fills
    return found[1]


class Firefox:
    """One window with one tab. `outside` holds its requests beyond this machine, `broken` its errors."""

    def __init__(self, socket):
        self.socket, self.numbers = socket, count(1)
        self.outside: list[str] = []
        self.broken: list[str] = []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **parameters):
        """Return the result of a command; what happens until then is noted."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            heard = json.loads(self.socket.recv(timeout=SECONDS))
            if heard["type"] == "event":
                self._note(heard["method"], heard["params"])
            elif heard["id"] == number:
                assert heard["type"] == "success", f"{method}: {heard.get('message')}"
                return heard["result"]

    def _note(self, method: str, event) -> None:
        if method == "log.entryAdded" and event["level"] == "error":
            self.broken.append(event["text"])
        elif method == "network.beforeRequestSent" and not event["request"]["url"].startswith(LOCAL):
            self.outside.append(event["request"]["url"])

    def goto(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self.context, url=address, wait="complete")

    def evaluate(self, function: str, *arguments):
        """Return what an (async) JavaScript function of the arguments returns, as JSON can hold it."""
        code = f"async (given) => JSON.stringify(await ({function})(...JSON.parse(given))) ?? 'null'"
        found = self.call(
            "script.callFunction",
            functionDeclaration=code,
            arguments=[{"type": "string", "value": json.dumps(arguments)}],
            target={"context": self.context},
            awaitPromise=True,
        )
        assert found["type"] == "success", found.get("exceptionDetails", {}).get("text")
        return json.loads(found["result"]["value"])

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression holds."""
        ready = f"""async (most) => {{
          for (const start = Date.now(); Date.now() - start < most; await new Promise((go) => setTimeout(go, 50)))
            if ({condition}) return true;
          return false;
        }}"""
        assert self.evaluate(ready, 900 * SECONDS), f"never came: {condition}"
