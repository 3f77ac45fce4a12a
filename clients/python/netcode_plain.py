"""A thin client of arche-netcode: the plain profile of docs/plain.md, with the standard library of Python 3.9 alone.

Client does no I/O: receive() takes datagrams, update() returns those to send. Times are milliseconds of one clock. play.py shows it with a socket.
"""
import struct, zlib
from netcode_rows import Bits, Malformed, Protocol, entries_of, must  # noqa: F401 (entries_of is for users)


def near(low, to, bits=16):
    """The number with these low bits that is nearest to another."""
    half = 1 << (bits - 1)
    return to + (low - to + half) % (2 * half) - half


class World:
    """entities[index] is (generation, tick of the newest record, {component: row}); rows are None once it is gone."""

    def __init__(self, protocol, tick):
        self.components, self.tick, self.entities = protocol.components, tick, {}

    def snapshot(self, s):
        tick, changes, last, head = near(s.read(16), self.tick), [], 0, None
        while s.read(1):
            last += s.var() + 1
            changes.append((last - 1, s.var(), None, None))
        last = 0
        while True:
            if not s.read(1):
                gap = s.var()
                if gap == 0:
                    break
                last = (last + gap - 1) % (1 << 20)
                if not s.read(1):
                    new, shown = s.read(1), [(c, s.read(1)) for c in self.components if s.read(1)]
                    head = new, [c for c, sent in shown if sent], [c.name for c, _ in shown]
            must(head)
            generation = s.var() if head[0] else 0
            changes.append((last, generation, {c.name: c.read(s) for c in head[1]}, head[2]))
            last += 1
        for change in changes:
            self.apply(tick, *change)
        self.tick = max(self.tick, tick)

    def apply(self, tick, index, generation, rows, names):
        was, at, before = self.entities.get(index, (0, 0, None))
        if (generation or was, tick) <= (was, at) or (names is not None and not generation and before is None):
            return
        old = before or {} if not generation else {}
        self.entities[index] = generation or was, tick, None if names is None else {n: rows.get(n, old.get(n, {})) for n in names}


class Client:
    def __init__(self, protocol, nonce, payload=b"", now=0.0):
        self.protocol, self.nonce, self.payload, self.cookie = protocol, nonce, payload, bytes(16)
        self.world, self.connected, self.closed, self.id, self.rate, self.messages = None, False, "", 0, 0, []
        self.seed, self.sent_at, self.heard_at, self.asked_at = None, -1e9, now, now
        self.got, self.newest_in, self.out, self.flying, self.eliciting = set(), 0, 0, {}, False  # packets
        self.streams, self.credit, self.once, self.repeat, self.numbers, self.closing = {}, 0, b"", [], {}, 0  # messages
        self.first, self.began, self.newest, self.rows = 0.0, 0.0, 0, []  # inputs

    def receive(self, data, now):
        """Takes a datagram of the server. One that is damaged or illegal has no effect."""
        open_seed = zlib.crc32(bytes(12))
        seed = ~self.seed & 0xFFFFFFFF if self.seed is not None and data and (data[0] < 0x80 or data[0] == 0x86) else open_seed
        body = data[:-4]
        if len(data) < 5 or self.closed or zlib.crc32(body, seed) != int.from_bytes(data[-4:], "little"):
            return
        if seed != open_seed and data[0] < 0x80 and self.connected:
            try:
                self.read(body)
                self.heard_at = now
            except (Malformed, IndexError, struct.error):
                pass
        elif data[0] == 0x86 and self.seed is not None and not self.connected:
            self.id, tick = struct.unpack("<Iq", body[1:13])
            self.world, self.connected, self.heard_at, self.sent_at = World(self.protocol, tick), True, now, -1e9
            self.began, self.first = now, tick + 2 + self.rate * (now - self.asked_at) / 1000
        elif data[0] >= 0x82 and body[1:9] == struct.pack("<Q", self.nonce) and not self.connected:
            if data[0] == 0x82 and self.seed is None:
                self.cookie, self.sent_at = body[9:25], -1e9
            elif data[0] == 0x83 and self.seed is None:
                epoch, self.rate = struct.unpack("<IH", body[9:15])
                self.seed, self.sent_at, self.asked_at = zlib.crc32(struct.pack("<IQ", epoch, self.protocol.hash)), -1e9, now
            elif data[0] == 0x84 and body[9] not in (37, 39):
                self.closed = "refused, reason %d: %s" % (body[9], body[10:].decode("utf-8", "replace"))

    def update(self, now):
        """Returns the datagrams that are due. Call it each frame."""
        if self.closed:
            return []
        if now - self.heard_at > (10000 if self.connected else 5000):
            self.closed = "silence"
        elif self.connected:
            return self.packet(now)
        elif self.seed is None and now - self.sent_at >= 250:
            self.sent_at, p = now, self.protocol
            hello = struct.pack("<BHQQ16sH", 0x81, 1, self.nonce, p.hash, self.cookie, len(p.hashes))
            hello += b"".join(struct.pack("<I", h) for h in p.hashes[:117])
            return [sealed(zlib.crc32(bytes(12)), hello.ljust(508, b"\0"))]
        elif self.seed is not None and now - self.sent_at >= 100:
            self.sent_at = now
            return [sealed(self.seed, struct.pack("<BQ", 0x85, self.nonce) + self.cookie + self.payload)]
        return []

    def read(self, b):
        flags, number, at, acks = b[0], near(struct.unpack_from("<H", b, 1)[0], self.newest_in), 3, []
        if flags & 1:
            ack, at = near(struct.unpack_from("<H", b, 3)[0], self.out), 5
            acks, bits = [ack], 0
            for k in range(4):
                bits |= (b[at] if flags >> (1 + k) & 1 else 255) << 8 * k
                at += flags >> (1 + k) & 1
            acks += [ack - 1 - i for i in range(32) if bits >> i & 1]
            at += 2 if flags & 32 else 0
        if number < 1 or number <= self.newest_in - 256 or number in self.got:
            return
        parts, channel, first = [], 0, True
        while first or at < len(b):
            end = at + struct.unpack_from("<H", b, at)[0]
            at += 2
            if not first:
                channel, at = b[at], at + 1
            first = False
            while at < end:
                kind, stage, size = struct.unpack_from("<BBH", b, at)
                must(at + 4 + size <= len(b))
                parts.append((channel, kind, stage, b[at + 4:at + 4 + size]))
                at += 4 + size
        for _, kind, _, payload in parts:
            if kind == 1:
                self.world.snapshot(Bits(payload))
        for a in acks:
            for m in self.flying.pop(a, ()):
                m["done"] = True
        self.got.add(number)
        self.newest_in = max(self.newest_in, number)
        self.got = {n for n in self.got if n > self.newest_in - 256}
        self.eliciting = self.eliciting or bool(parts)
        for p in parts:
            self.take(*p)

    def take(self, channel, kind, stage, b):
        if channel >= 0x80:  # Reliable too is taken in the order of the numbers
            stream = self.streams.setdefault(channel, {"next": 0, "whole": b""})
            number = near(struct.unpack_from("<H", b)[0], stream["next"])
            if stream["next"] <= number < stream["next"] + 1024:
                stream[number] = kind, stage, b
            while stream["next"] in stream:
                kind, stage, b = stream.pop(stream["next"])
                stream["next"] += 1
                self.credit += len(b) + 32
                if kind != 6:
                    self.handle(kind, stage, b[2:])
                else:  # a piece
                    stream["whole"] += b[6:]
                    if b[4] == b[5] - 1:
                        self.handle(b[2], b[3], stream["whole"])
                        stream["whole"] = b""
        elif kind == 2:
            self.world.tick = max(self.world.tick, near(struct.unpack_from("<H", b)[0], self.world.tick))
        elif kind == 3:
            self.closed = "closed, reason %d: %s" % (b[0], b[1:].decode("utf-8", "replace"))
        elif kind == 8:  # inputs should come one to three ticks early
            early = struct.unpack_from("<h", b, 2)[0] / 256
            self.first += min(2 - early, 16) if early < 1 else -0.05 if early > 3 else 0
        elif kind >= 16:
            self.handle(kind, stage, b)

    def handle(self, kind, stage, b):
        at, entity = 2 if stage & 8 else 0, None
        if stage & 16:
            entity = []
            for _ in range(2):
                a = b[at]
                more = 0 if a <= 240 else 1 if a <= 248 else 2 if a == 249 else a - 247
                v = int.from_bytes(b[at + 1:at + 1 + more], "big")
                entity.append(a if a <= 240 else 240 + 256 * (a - 241) + v if a <= 248 else v + 2288 if a == 249 else v)
                at += 1 + more
        at += (2 if stage & 32 else 0) + (2 if stage & 64 else 0)
        if 16 <= kind < 16 + len(self.protocol.messages):
            shape = self.protocol.messages[kind - 16]
            self.messages.append((shape.name, b[at:] if shape.raw else shape.read(Bits(b[at:])), entity))

    def send(self, name, row):
        """Sends a message, with the delivery that it is registered with."""
        kind, shape = next((16 + i, s) for i, s in enumerate(self.protocol.messages) if s.name == name)
        c, body = shape.channel, shape.write(Bits(), row).bytes()
        if c < 0x80:
            self.once += message(kind, 4, body)
            return
        n = self.numbers[c] = self.numbers.get(c, -1) + 1
        self.repeat.append({"channel": c, "data": message(kind, 4, struct.pack("<H", n & 0xFFFF) + body), "at": -1e9, "done": False})

    def set_input(self, now, rows):
        """Sets the inputs of the present tick: a row for each of protocol.inputs. Call it each frame, before update."""
        at = int(self.first + self.rate * (now - self.began) / 1000)
        self.newest = self.newest or at - 1
        while self.newest < at:
            self.newest, self.rows = self.newest + 1, self.rows[-7:] + [rows]

    def input_message(self):
        s = Bits()
        for i, shape in enumerate(self.protocol.inputs):
            s.write_var(len(self.rows))
            for rows in self.rows:
                shape.write(s, rows[i])
        return message(9, 0, struct.pack("<HH", self.newest & 0xFFFF, 0xFFFF) + s.bytes())

    def packet(self, now):
        if now - self.sent_at < 1000 / self.rate - 1:
            return []
        own = self.once + (self.input_message() if self.rows else b"")
        own += message(5, 0, struct.pack("<I", 131072 + self.credit & 0xFFFFFFFF)) if self.credit else b""
        own += message(3, 0, b"\1") if self.closing else b""
        due, size = [], 0
        for m in self.repeat:
            if not m["done"] and now - m["at"] >= 200 and size < 400:
                due.append(m)
                size, m["at"] = size + len(m["data"]), now
        if not own and not due and (not self.eliciting or not self.newest_in):
            if now - self.sent_at < (1000 if self.newest_in else 100):
                return []
            own = message(2, 0, b"")  # KeepAlive
        self.once, self.eliciting, self.sent_at, self.out = b"", False, now, self.out + 1
        flags, acks = 0, b""
        if self.newest_in:
            flags, acks = 1, struct.pack("<H", self.newest_in & 0xFFFF)
            for k in range(4):
                bits = sum(1 << i for i in range(8) if self.newest_in - 1 - 8 * k - i in self.got)
                flags, acks = (flags, acks) if bits == 255 else (flags | 2 << k, acks + bytes([bits]))
        b = struct.pack("<BH", flags, self.out & 0xFFFF) + acks + struct.pack("<H", 2 + len(own)) + own
        while due and (batch := [m for m in due if m["channel"] == due[0]["channel"]]):
            data = b"".join(m["data"] for m in batch)
            b += struct.pack("<HB", 3 + len(data), batch[0]["channel"]) + data
            self.flying.setdefault(self.out, []).extend(batch)
            due = [m for m in due if m not in batch]
        self.flying.pop(self.out - 512, None)
        self.repeat = [m for m in self.repeat if not m["done"]]
        self.closed, self.closing = "closed" if self.closing == 1 else "", max(0, self.closing - 1)
        return [sealed(self.seed, b)]


def message(kind, stage, body):
    return struct.pack("<BBH", kind, stage, len(body)) + body


def sealed(seed, b):
    return b + struct.pack("<I", zlib.crc32(b, seed))
