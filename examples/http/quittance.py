"""Governs the tools of a Python program through a Quittance server. The standard library is all it needs.

    quittance serve --tools tools.json --contracts rules.yaml
    export QUITTANCE_TOKEN=$(quittance tokens create --name shop-agent --role operator)
    python3 quittance.py
"""

import json
import os
import time
import urllib.error
import urllib.request
import uuid


class Refused(Exception):
    """The server would not take the request; says why and what to do."""


class Quittance:
    def __init__(self, url=None, token=None):
        self.url = (url or os.environ.get("QUITTANCE_URL", "http://127.0.0.1:4747")).rstrip("/")
        self.token = token or os.environ["QUITTANCE_TOKEN"]

    def post(self, path, body):
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
            method="POST",
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            problem = json.load(error)
            raise Refused(f"{problem['code']}: {problem['detail']}") from error

    def call(self, session, call, tools, patience=600):
        """Runs one call of a model, {id, name, arguments}, and gives what the model should be told.

        Asking again with the same id is safe at any time: whatever became of the call is what is answered. Only one
        answer says "allow". If that one was lost, the next request says so: this program has not run the call.
        """
        lost = []
        for _ in range(max(1, patience // 60)):
            request = str(uuid.uuid4())
            asked = {"sessionId": session, "call": call, "waitMs": 60_000, "requestId": request, "reclaim": lost}
            try:
                answer = self.post("/v1/calls", asked)
            except OSError:  # the connection broke: the answer may be lost
                lost.append(request)
                time.sleep(1)
                continue
            if answer["decision"] == "allow":
                return self.run(answer, tools)
            if answer["decision"] in ("deny", "settled"):
                return answer["content"]
            # held or running: somebody else is at it. The wait was the server's; ask again.
        raise TimeoutError(f"nobody has decided about {call['id']} yet")

    def run(self, claim, tools):
        try:
            report = {"output": tools[claim["toolName"]](**claim["arguments"])}
        except Exception as error:  # what goes wrong in a tool is an outcome too
            report = {"error": f"{type(error).__name__}: {error}"}
        return self.post("/v1/handoffs/report", {"token": claim["token"], "report": report})["content"]


def lookup_order(order):
    return {"order": order, "cents": 4200}


def refund(order, cents):
    print(f"paying {cents} cents back for order {order}")
    return {"order": order, "paid": cents}


if __name__ == "__main__":
    quittance = Quittance()
    tools = {"lookup_order": lookup_order, "refund": refund}
    for call in [
        {"id": "p1", "name": "lookup_order", "arguments": {"order": "A7"}},
        {"id": "p2", "name": "refund", "arguments": '{"order": "A7", "cents": "500"}'},  # as models write it
        {"id": "p2", "name": "refund", "arguments": '{"order": "A7", "cents": "500"}'},  # and twice
        {"id": "p3", "name": "refund", "arguments": {"order": "A7", "cents": 5_000_000}},
        {"id": "p4", "name": "refund", "arguments": {"order": "A7", "cents": 4_200}},  # a person is asked
    ]:
        print(call["id"], quittance.call("python", call, tools))
