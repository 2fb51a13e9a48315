# SPDX-License-Identifier: MIT
"""A headless Chromium for tests, driven over its DevTools pipe: pages are opened from files, asked, clicked and pictured."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from claims import Skip

LONGEST_SECONDS = 120  # of anything; a busy host is slow


class Browser:
    """with Browser(1400, 900) as browser: browser.open(path); browser.ask("document.title")"""

    def __init__(self, width=1400, height=1000, is_dark=False):
        program = shutil.which("chromium")
        if not program:
            raise Skip("chromium is not installed; run tools/install-deps check")
        self.folder = tempfile.mkdtemp(prefix="browser-")
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        words = [program, "--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--mute-audio",
                 "--hide-scrollbars", "--allow-file-access-from-files", "--remote-debugging-pipe", f"--user-data-dir={self.folder}", f"--window-size={width},{height}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")  # its sandbox refuses root
        # Chromium reads descriptor 3 and writes 4.
        self.process = subprocess.Popen(["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "sh", *words], pass_fds=(to_read, from_write),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest = b""
        self.number = 0
        self.session = None
        self.requests = []  # addresses that pages fetched
        self.complaints = []  # of pages: errors, refusals of the security policy
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.set_dark(is_dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(timeout=20)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.from_read], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError("the browser does not answer")
            part = os.read(self.from_read, 1 << 20)
            if not part:
                raise AssertionError("the browser is gone")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def note(self, message):
        method, values = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(values["exceptionDetails"].get("exception", {}).get("description") or values["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and values["entry"]["level"] == "error":
            self.complaints.append(values["entry"]["text"])

    def call(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_write, json.dumps(message).encode("ascii") + b"\0")
        deadline = time.monotonic() + LONGEST_SECONDS
        while True:
            answer = self.message(deadline)
            if answer.get("id") != self.number:
                self.note(answer)
                continue
            if "error" in answer:
                raise AssertionError(f"{method}: {answer['error']}")
            return answer["result"]

    def set_dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"},
                                                         {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, path, fragment=""):
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + fragment)
        self.wait_for("document.readyState === 'complete'")

    def ask(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails'].get('exception', answer['exceptionDetails'])}")
        return answer["result"].get("value")

    def wait_for(self, expression):
        deadline = time.monotonic() + LONGEST_SECONDS
        while not self.ask(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"the page never had {expression}")
            time.sleep(0.05)

    def click(self, expression):
        """Presses the mouse in the middle of the element that the expression yields."""
        x, y = self.ask(f"(() => {{ const e = {expression}; e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect(); "
                        "return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        with open(path, "wb") as stream:
            stream.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
