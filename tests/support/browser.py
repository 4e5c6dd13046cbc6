"""A headless Chromium for tests, driven by the DevTools protocol through a pair of pipes."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--remote-debugging-pipe",
)


def find_browser() -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


class Browser:
    """One page of a headless browser. ``errors`` collects exceptions, console errors and blocked requests."""

    def __init__(self, profile: Path, timeout: float = 60.0) -> None:
        self.timeout, self.errors, self.number = timeout, [], 0
        self.requests: list[str] = []
        self.session: str | None = None
        self.buffer = b""
        program = find_browser()
        assert program is not None
        read_commands, self.write_to = os.pipe()
        self.read_from, write_answers = os.pipe()

        def use_pipes() -> None:  # the browser reads from 3 and writes to 4
            high = os.dup2(read_commands, 100), os.dup2(write_answers, 101)
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, preexec_fn=use_pipes, close_fds=False, stdin=quiet, stdout=quiet, stderr=quiet
        )
        os.close(read_commands)
        os.close(write_answers)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.read_from, selectors.EVENT_READ)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def receive(self) -> dict[str, Any]:
        """The next message; events are noted."""
        end = time.monotonic() + self.timeout
        while b"\0" not in self.buffer:
            if not self.selector.select(max(end - time.monotonic(), 0.0)):
                raise TimeoutError("the browser does not answer")
            part = os.read(self.read_from, 1 << 20)
            if not part:
                raise ConnectionError("the browser has closed")
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        self.note(message.get("method"), message.get("params", {}))
        return message

    def note(self, method: str | None, event: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(event["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.errors.append(json.dumps(event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            if "GL Driver Message (OpenGL, Performance" not in event["entry"]["text"]:  # software drawing is slow
                self.errors.append(event["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])

    def open(self, path: Path, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.resize(width, height)
        self.send("Page.navigate", url=path.as_uri())
        while self.receive().get("method") != "Page.loadEventFired":
            pass
        self.picture_drawn()

    def resize(self, width: int, height: int) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; a promise is awaited."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture_drawn(self) -> None:
        """Wait until everything asked for has been drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def press(self, key: str, text: str | None = None) -> None:
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, *, whole: bool = False) -> bytes:
        answer = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.selector.close()
        os.close(self.write_to)
        os.close(self.read_from)
