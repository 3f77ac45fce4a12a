"""Joins a server by UDP, loses some datagrams on purpose, and prints its world as JSON when a message "Done" comes.

    python3 play.py HOST:PORT GAME.plain [SECONDS] [LOSS]

"netcode schema plain game.lock -o GAME.plain" writes that file.
"""
import json, os, random, select, socket, sys, time
from netcode_plain import Client, Protocol


def play(address, plain, seconds=3.0, loss=0.0):
    host, port = address.rsplit(":", 1)
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.connect((host.strip("[]"), int(port)))
    now = lambda: time.monotonic() * 1000
    with open(plain, encoding="utf-8") as file:
        client = Client(Protocol(file.read()), os.urandom(8), b"python", now())
    began, said, chance = now(), 0, random.Random(1)
    while not client.closed:
        select.select([sock], [], [], 0.005)
        try:
            while True:
                data = sock.recv(2048)
                if chance.random() >= loss:
                    client.receive(data, now())
        except OSError:
            pass  # nothing more
        if client.connected:
            client.set_input(now(), [{"X": 5, "Y": -5, "Jump": said % 2 == 0} for _ in client.protocol.inputs])
            if said < 20 and now() - began > 100 * said:
                said += 1
                if any(m.name == "Chat" for m in client.protocol.messages):
                    client.send("Chat", {"Text": "hello %d" % said})
        for data in client.update(now()):
            if chance.random() >= loss:
                sock.send(data)
        if any(name == "Done" for name, _, _ in client.messages):
            break
        if now() - began > 1000 * (seconds + 20):
            sys.exit("no end came")
    if client.closed:
        sys.exit(client.closed)
    entities = {i: {"generation": g, "rows": rows} for i, (g, _, rows) in client.entities.items() if rows is not None}
    heard = [row["Text"] for name, row, _ in client.messages if name == "Chat"]
    print(json.dumps({"entities": entities, "heard": heard}))
    client.closing = 3
    for _ in range(8):
        time.sleep(0.03)
        for data in client.update(now()):
            sock.send(data)


if __name__ == "__main__":
    play(sys.argv[1], sys.argv[2], *(float(a) for a in sys.argv[3:5]))
