#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
browser.py HOME: a headless Chromium, its files in HOME, that does what lines on standard input say, one line of answer each:

    goto URL          eval JAVASCRIPT        size WIDTH HEIGHT     scheme dark|light
    key NAME          shot FILE              complaints            requests

`eval` answers with the value as JSON, `complaints` with all that the console, exceptions and the
content security policy said since, `requests` with the URLs asked for since, each as a JSON list.
Spoken to by the DevTools protocol over a pipe, so no port is opened.
"""
import base64
import json
import os
import signal
import subprocess
import sys

KEYS = {
    "Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37,
    "ArrowRight": 39,
}


class Browser:
    def __init__(self, home):
        to_child, self.out = os.pipe()
        self.inward, from_child = os.pipe()

        def place():
            # Above what is to be replaced, so that neither overwrites the other.
            os.dup2(to_child, 60)
            os.dup2(from_child, 61)
            os.dup2(60, 3)
            os.dup2(61, 4)

        self.child = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--remote-debugging-pipe",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--disable-sync", "--disable-extensions", "--no-proxy-server",
             "--force-color-profile=srgb", "--hide-scrollbars", "--user-data-dir=" + home,
             "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": home})
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.complaints, self.requests, self.events = [], [], []

    def read(self):
        while b"\0" not in self.buffer:
            part = os.read(self.inward, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description")
                                   or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.complaints.append(" ".join(str(one.get("description", one.get("value")))
                                            for one in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            entry = params["entry"]
            self.complaints.append(f"{entry['text']} {entry.get('url', '')}".strip())
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        self.events.append(method)

    def attach(self):
        pages = [one for one in self.call("Target.getTargets")["targetInfos"]
                 if one["type"] == "page"]
        target = (pages[0]["targetId"] if pages
                  else self.call("Target.createTarget", url="about:blank")["targetId"])
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    # --- what can be said ---

    def do_goto(self, url):
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise RuntimeError(answer["errorText"])
        while "Page.loadEventFired" not in self.events and "loaderId" in answer:
            self.note(self.read())
        return "ok"

    def do_eval(self, text):
        answer = self.call("Runtime.evaluate", expression=text, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.dumps(answer["result"].get("value"))

    def do_size(self, text):
        width, height = (int(word) for word in text.split())
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if width < 600 else 1, mobile=width < 600)
        return "ok"

    def do_scheme(self, text):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": text}])
        return "ok"

    def do_key(self, text):
        code = KEYS.get(text, ord(text[0].upper()))
        extra = {"text": "\r"} if text == "Enter" else {} if text in KEYS else {"text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=text, windowsVirtualKeyCode=code,
                  **extra)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=text, windowsVirtualKeyCode=code)
        return "ok"

    def do_shot(self, file):
        picture = self.call("Page.captureScreenshot", format="png")
        with open(file, "wb") as output:
            output.write(base64.b64decode(picture["data"]))
        return "ok"

    def take(self, name):
        self.do_eval("1")  # what was on its way has come
        told = json.dumps(getattr(self, name))
        getattr(self, name).clear()
        return told

    def do_complaints(self, _):
        return self.take("complaints")

    def do_requests(self, _):
        return self.take("requests")

    def end(self):
        self.session = None
        try:
            self.call("Browser.close")
        except (EOFError, OSError, RuntimeError):
            pass
        try:
            self.child.wait(10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    browser = Browser(sys.argv[1])
    try:
        browser.attach()
        for line in sys.stdin:
            word, _, rest = line.rstrip("\n").partition(" ")
            try:
                answer = getattr(browser, "do_" + word)(rest)
            except (RuntimeError, AttributeError, ValueError) as error:
                answer = f"error: {error}"
            print(answer.replace("\n", " "), flush=True)
    finally:
        browser.end()


if __name__ == "__main__":
    main()
