"""Plays a golden session (testdata/plain.golden) and exits with 1 at the first difference: python3 golden.py FILE."""
import json, sys
from netcode_plain import Client, Protocol


def same(a, b):
    """Numbers beyond 2^53 are texts in the file."""
    if isinstance(b, dict):
        return isinstance(a, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in b)
    if isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or isinstance(b, str) and not isinstance(a, str) and str(a) == b


def check(what, got, want, number):
    if not same(got, want):
        sys.exit(f"line {number}: {what} is {got!r}, not {want!r}")


lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
head = json.loads(lines[0])
client = Client(Protocol(head["plain"]), bytes.fromhex(head["nonce"]), bytes.fromhex(head["payload"]))
known = {}
for number, text in enumerate(lines[1:], 2):
    line = json.loads(text)
    for datagram in line.get("in", []):
        client.receive(bytes.fromhex(datagram), line["ms"])
    for m in line.get("send", []):
        client.send(m["name"], m["row"])
    if "input" in line:
        client.set_input(line["ms"], line["input"])
    client.closing = 3 if line.get("close") else client.closing
    check("what is sent", [d.hex() for d in client.update(line["ms"])], line.get("out", []), number)
    for index, want in line.get("world", {}).items():
        known[int(index)] = want
    got = {i: rows and {"generation": g, "tick": t, "rows": rows} for i, (g, t, rows) in client.entities.items()}
    check("the world", got, known, number)
    check("messages", [name for name, _, _ in client.messages], [m["name"] for m in line.get("messages", [])], number)
    for (_, row, _), m in zip(client.messages, line.get("messages", [])):
        check("a message", row, m["row"], number)
    client.messages = []
    check("the end", client.closed, line.get("closed", ""), number)
print(f"{len(lines)} lines, {len(known)} entities: all as in the file")
