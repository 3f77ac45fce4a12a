"""A thin client of arche-netcode: the plain profile of docs/plain.md. Python 3.9, the standard library alone.

Client does no I/O: receive() takes datagrams, update() returns those to send. Times are milliseconds of one clock.
"""
import math, struct, zlib


def must(holds):  # of the bytes of an honest server
    if not holds:
        raise ValueError("malformed")


def near(low, to):
    """The number with these 16 low bits that is nearest to another."""
    return to + (low - to + 0x8000) % 0x10000 - 0x8000


class Bits:
    """A bit stream, the least significant bit of a byte first."""

    def __init__(self, data=b""):
        self.value, self.size, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def read(self, n):
        must(self.at + n <= self.size)
        self.at += n
        return self.value >> (self.at - n) & ((1 << n) - 1)

    def var(self):
        n = 2
        while not self.read(1):
            n += 1
        must(n <= 32)
        return self.read(n) + (1 << n) - 4

    def write(self, v, n):
        self.value |= (v & ((1 << n) - 1)) << self.at
        self.at += n

    def write_var(self, v):
        n = (v + 4).bit_length() - 1
        self.write(1 << (n - 2), n - 1)
        self.write(v + 4, n)

    def bytes(self):
        return self.value.to_bytes((self.at + 7) // 8, "little")


class Field:
    def __init__(self, path, form, bits, most, low, high):
        self.path, self.form, self.bits, self.most, self.elements = path, form, int(bits), int(most), []
        self.low = int(low) if form in ("int", "short") else float(low)
        self.step = 1 if form in ("int", "short", "bool") else (float(high) - self.low) / max(1, self.most)

    def read(self, s):
        if self.form == "entity":
            if not s.read(1):
                return None  # nobody
            m = s.read(5)
            index = s.read(max(m, 1)) | (1 << m if m else 0)
            return {"index": index, "generation": s.var() + 1}
        if self.form == "quat":  # x, y, z, w: the largest is left out
            largest, unit = s.read(2), math.sqrt(2) / ((1 << self.bits) - 1)
            q = [0.0 if i == largest else s.read(self.bits) * unit - math.sqrt(2) / 2 for i in range(4)]
            q[largest] = math.sqrt(max(0.0, 1 - sum(x * x for x in q)))
            return q
        n = s.var() if self.form in ("short", "text", "list") else s.read(self.bits)
        must(n <= self.most or not self.most)
        if self.form == "text":
            return bytes(s.read(8) for _ in range(n)).decode("utf-8", "replace")
        if self.form == "list":
            return [read_row(self.elements, s) for _ in range(n)]
        if self.form == "bytes":
            return bytes(s.read(8) for _ in range((s.size - s.at) // 8))
        if self.form == "half":  # halves are numbered in the order of their values
            return struct.unpack("<e", struct.pack("<H", n - 31744 if n >= 31744 else 0x8000 + 31743 - n))[0]
        if self.form == "float":
            return struct.unpack("<f" if self.bits == 32 else "<d", n.to_bytes(self.bits // 8, "little"))[0]
        return n == 1 if self.form == "bool" else self.low + n * self.step

    def write(self, s, v):
        if self.form == "text":
            s.write_var(len(v.encode()))
            s.write(int.from_bytes(v.encode(), "little"), 8 * len(v.encode()))
        elif self.form == "float":
            s.write(int.from_bytes(struct.pack("<f" if self.bits == 32 else "<d", v), "little"), self.bits)
        elif self.form == "scaled":
            s.write(min(max(math.floor((v - self.low) / self.step + 0.5), 0), self.most), self.bits)
        elif self.form == "short":
            s.write_var(v)
        else:
            must(self.form in ("bool", "int", "angle"))  # others are not written
            s.write(math.floor((v - self.low) / self.step + 0.5), self.bits)


def read_row(fields, s):
    return {f.path: f.read(s) for f in fields}


def write_row(fields, s, row):
    for f in fields:
        f.write(s, row[f.path])


class Shape:
    """A component, an input, or a message with the channel that it is registered with."""

    def __init__(self, name, channel=0):
        self.name, self.channel, self.fields = name, int(channel), []


class Protocol:
    """What "netcode schema plain" wrote of the game: lines of words."""

    def __init__(self, text):
        self.components, self.inputs, self.messages = [], [], []
        for word, *rest in map(str.split, text.splitlines()):
            if word in ("hash", "entries"):
                setattr(self, word, bytes(map(int, rest)))
            elif word == "field":
                shape.fields.append(Field(*rest))
            elif word == "element":
                shape.fields[-1].elements.append(Field(*rest))
            else:
                shape = Shape(*rest)
                getattr(self, word + "s").append(shape)


class Client:
    """entities[index] is (generation, tick of the newest record, {component: row}); rows are None once it is gone."""

    def __init__(self, protocol, nonce, payload=b"", now=0.0):
        self.protocol, self.nonce, self.payload, self.cookie = protocol, nonce, payload, bytes(16)
        self.connected, self.closed, self.id, self.rate, self.closing = False, "", 0, 0, 0
        self.tick, self.entities, self.messages = 0, {}, []
        self.seed, self.sent_at, self.heard_at, self.asked_at = None, -1e9, now, now
        self.newest_in, self.mask, self.out = 0, 0, 0  # packets: bit i of mask: newest_in - i was taken
        self.streams, self.credit, self.once, self.repeat, self.numbers = {}, 131072, b"", [], {}  # messages
        self.first, self.began, self.newest, self.rows = 0.0, 0.0, 0, []  # inputs

    def receive(self, data, now):
        """Takes a datagram of the server. One that is damaged or illegal has no effect."""
        session = self.seed is not None and (data[:1] < b"\x80" or data[:1] == b"\x86")
        b, seed = data[:-4], self.seed ^ 0xFFFFFFFF if session else zlib.crc32(bytes(12))
        if self.closed or not b or zlib.crc32(b, seed) != int.from_bytes(data[-4:], "little"):
            return
        try:
            if session and b[0] < 0x80 and self.connected:
                self.read(b)
                self.heard_at = now
            elif session and b[0] == 0x86 and not self.connected:
                self.id, self.tick = struct.unpack("<Iq16x", b[1:])
                self.connected, self.heard_at, self.sent_at, self.began = True, now, -1e9, now
                self.first = self.tick + 2 + self.rate * (now - self.asked_at) / 1000
            elif self.seed is None and b[1:9] == self.nonce:
                self.answer(b, now)
        except (ValueError, IndexError, struct.error):
            pass

    def answer(self, b, now):  # of the handshake
        if b[0] == 0x82:
            self.cookie, self.sent_at = struct.unpack("16s", b[9:])[0], -1e9
        elif b[0] == 0x83:
            epoch, self.rate = struct.unpack("<4sH4x", b[9:])
            must(self.rate)
            self.seed, self.sent_at, self.asked_at = zlib.crc32(epoch + self.protocol.hash), -1e9, now
        elif b[0] == 0x84 and b[9] not in (37, 39):
            self.closed = "refused, reason %d: %s" % (b[9], b[10:].decode("utf-8", "replace"))

    def update(self, now):
        """Returns the datagrams that are due. Call it each frame."""
        if now - self.heard_at > (10000 if self.connected else 5000):
            self.closed = self.closed or "silence"
        wait = 1000 / self.rate - 1 if self.connected else 250 if self.seed is None else 100
        if self.closed or now - self.sent_at < wait:
            return []
        self.sent_at = now
        if self.connected:
            return [sealed(self.seed, self.packet(now))]
        if self.seed is not None:
            return [sealed(self.seed, b"\x85" + self.nonce + self.cookie + self.payload)]
        hello = b"\x81\1\0" + self.nonce + self.protocol.hash + self.cookie + self.protocol.entries
        return [sealed(zlib.crc32(bytes(12)), hello.ljust(508, b"\0"))]

    def read(self, b):
        number, at, acked = near(struct.unpack_from("<H", b, 1)[0], self.newest_in), 3, set()
        if b[0] & 1:
            ack, at, bits = near(struct.unpack_from("<H", b, 3)[0], self.out), 5, 1
            for k in range(4):
                told = b[0] >> (1 + k) & 1
                bits |= (b[at] if told else 255) << 1 + 8 * k
                at += told
            acked = {ack - i for i in range(33) if bits >> i & 1}
            at += 2 if b[0] & 32 else 0
        ahead = number - self.newest_in
        if number < 1 or ahead < -32 or ahead <= 0 and self.mask >> -ahead & 1:
            return  # too old, or it was taken before
        parts, channel, first = [], 0, True
        while first or at < len(b):
            end = at + struct.unpack_from("<H", b, at)[0]
            at, channel = (at + 2, 0) if first else (at + 3, b[at + 2])
            must(at <= end <= len(b))
            first = False
            while at < end:
                kind, stage, size = struct.unpack_from("<BBH", b, at)
                parts.append((channel, kind, stage, b[at + 4:at + 4 + size]))
                at += 4 + size
            must(at == end)
        for _, kind, _, payload in parts:
            if kind == 1:
                self.snapshot(Bits(payload))
        self.repeat = [m for m in self.repeat if not m["packets"] & acked]
        self.mask = (self.mask << ahead | 1 if ahead > 0 else self.mask | 1 << -ahead) & (1 << 33) - 1
        self.newest_in = max(self.newest_in, number)
        for part in parts:
            self.take(*part)

    def snapshot(self, s):
        tick, changes, index, head = near(s.read(16), self.tick), [], -1, None
        must(tick > 0)
        while s.read(1):
            index += s.var() + 1
            changes.append((index, s.var(), None))
        index = -1
        while True:
            index += 1
            if not s.read(1):
                gap = s.var()
                if gap == 0:
                    break
                index = (index + gap - 1) % (1 << 20)
                if not s.read(1):
                    head = s.read(1), [(c, s.read(1)) for c in self.protocol.components if s.read(1)]
            must(head)
            generation = s.var() if head[0] else None  # of the entity that is here
            rows = {c.name: read_row(c.fields, s) if sent else None for c, sent in head[1]}
            changes.append((index, generation, rows))
        must(all(index < 1 << 20 and (g is None or 0 < g < 1 << 32) for index, g, _ in changes))
        for index, generation, rows in changes:
            was, at, before = self.entities.get(index, (0, 0, None))
            if (generation or was, tick) > (was, at) and (generation or before is not None):
                if rows is not None:  # None: it is gone. A row that is None is as before
                    before = {} if generation else before
                    rows = {name: before.get(name, {}) if row is None else row for name, row in rows.items()}
                self.entities[index] = generation or was, tick, rows
        self.tick = max(self.tick, tick)

    def take(self, channel, kind, stage, b):
        if channel >= 0x80:  # Reliable too is taken in the order of the numbers
            stream = self.streams.setdefault(channel, {"next": 0, "whole": []})
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
                    stream["whole"] = stream["whole"][:b[4]] + [b[6:]]
                    if b[4] + 1 == b[5]:
                        self.handle(b[2], b[3], b"".join(stream["whole"]))
        elif kind == 2:
            self.tick = max(self.tick, near(struct.unpack_from("<H", b)[0], self.tick))
        elif kind == 3:
            self.closed = "closed, reason %d: %s" % (b[0], b[1:].decode("utf-8", "replace"))
        elif kind == 8:  # inputs should come one to three ticks early
            early = struct.unpack_from("<h", b, 2)[0] / 256
            self.first += min(2 - early, 16) if early < 1 else -0.05 if early > 3 else 0
        else:
            self.handle(kind, stage, b)

    def handle(self, kind, stage, b):
        s, entity = Bits(b), []
        s.read(16 if stage & 8 else 0)
        for _ in range(2 if stage & 16 else 0):  # a varint
            a = s.read(8)
            more = 0 if a <= 240 else 1 if a <= 248 else 2 if a == 249 else a - 247
            v = int.from_bytes([s.read(8) for _ in range(more)], "big")
            entity.append(a if a <= 240 else 240 + 256 * (a - 241) + v if a <= 248 else v + 2288 if a == 249 else v)
        s.read((16 if stage & 32 else 0) + (16 if stage & 64 else 0))
        if 16 <= kind < 16 + len(self.protocol.messages):
            shape = self.protocol.messages[kind - 16]
            self.messages.append((shape.name, read_row(shape.fields, s), entity))

    def send(self, name, row):
        """Sends a message, with the delivery that it is registered with."""
        kind, shape = next((16 + i, s) for i, s in enumerate(self.protocol.messages) if s.name == name)
        c, s = shape.channel, Bits()
        if c >= 0x80:
            self.numbers[c] = self.numbers.get(c, -1) + 1
            s.write(self.numbers[c], 16)
        write_row(shape.fields, s, row)
        if c < 0x80:
            self.once += message(kind, 4, s.bytes())
        else:
            self.repeat.append({"channel": c, "data": message(kind, 4, s.bytes()), "at": -1e9, "packets": set()})

    def set_input(self, now, rows):
        """Sets the inputs of the present tick: a row for each of protocol.inputs. Call it each frame, before update."""
        at = int(self.first + self.rate * (now - self.began) / 1000)
        self.newest = max(self.newest or at - 1, at - 8)
        while self.newest < at:
            self.newest, self.rows = self.newest + 1, self.rows[-7:] + [rows]

    def packet(self, now):
        self.out += 1
        own, self.once = self.once + (b"" if self.newest_in else message(2, 0, b"")), b""  # a KeepAlive
        if self.rows:
            s = Bits(struct.pack("<HH", self.newest & 0xFFFF, 0xFFFF))
            s.at = 32
            for i, shape in enumerate(self.protocol.inputs):
                s.write_var(len(self.rows))
                for rows in self.rows:
                    write_row(shape.fields, s, rows[i])
            own += message(9, 0, s.bytes())
        own += message(5, 0, struct.pack("<I", self.credit & 0xFFFFFFFF)) if self.credit > 131072 else b""
        if self.closing:
            own += message(3, 0, b"\1")
            self.closing -= 1
            self.closed = "" if self.closing else "closed"
        flags, acks = 0, b""
        if self.newest_in:
            flags, acks = 1, struct.pack("<H", self.newest_in & 0xFFFF)
            for k in range(4):
                taken = self.mask >> 1 + 8 * k & 255
                flags, acks = (flags, acks) if taken == 255 else (flags | 2 << k, acks + bytes([taken]))
        b = struct.pack("<BH", flags, self.out & 0xFFFF) + acks + struct.pack("<H", 2 + len(own)) + own
        m = next((m for m in self.repeat if now - m["at"] >= 200), None)
        if m:  # one reliable message a packet
            m["at"] = now
            m["packets"].add(self.out)
            b += struct.pack("<HB", 3 + len(m["data"]), m["channel"]) + m["data"]
        return b


def message(kind, stage, body):
    return struct.pack("<BBH", kind, stage, len(body)) + body


def sealed(seed, b):
    return b + struct.pack("<I", zlib.crc32(b, seed))
