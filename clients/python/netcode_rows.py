"""Descriptions, bits and rows of the plain profile of arche-netcode, docs/plain.md, sections 1 and 2. netcode_plain.py is the client on it."""
import math, struct

SQRT2 = math.sqrt(2)


class Malformed(Exception):
    """Bytes that no honest server sends."""


def must(holds):
    if not holds:
        raise Malformed()


def fnv(data, h, prime, bits):
    for c in data:
        h = ((h ^ c) * prime) & ((1 << bits) - 1)
    return h


def single(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


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
    """One field of a description, "path:kind": how its numbers make a value."""

    def __init__(self, text):
        self.path, kind = text.split(":", 1)
        self.low, self.width, self.short = 0, 0, False
        if kind.endswith(")"):
            size, of = kind[4:-1].split("(", 1)
            self.base, self.most, self.elements = "list", int(size), [Field(f) for f in of.split(" ")]
            return
        kind, self.bounded, bounds = kind.split("~")[0].rstrip("]").partition("[")
        self.short, kind = kind.endswith("short"), kind.replace("short", "")
        self.base, self.most = kind, 1
        for base in ("angle", "quat", "text", "half", "axis"):
            before, found, digits = kind.partition(base)
            if found:
                self.base, self.width, self.bits = base, int(before[1:] or 0), int(digits or 0)
                self.most = {"text": self.bits, "half": 63487, "axis": 254}.get(base, (1 << self.bits) - 1)
        if self.base != kind or kind in ("bool", "entity"):
            return
        self.base, self.width = kind[0], int(kind[1:])
        self.most, self.low = (1 << self.width) - 1, -(1 << (self.width - 1)) if self.base == "i" else 0
        if self.bounded and self.base == "f":
            self.min, self.max, step = (float(b) for b in bounds.split(","))
            self.min, self.max = self.sized(self.min), self.sized(self.max)
            self.most = math.ceil((self.max - self.min) / step - 1e-6)
            self.step = (self.max - self.min) / self.most
        elif self.bounded:
            self.low, high = (int(b) for b in bounds.split(","))
            self.most = high - self.low

    def read(self, s):
        if self.base == "entity":
            if not s.read(1):
                return {"index": 0, "generation": 0}  # nobody
            n = s.read(5)
            index = s.read(max(n, 1)) | (1 << n if n else 0)
            return {"index": index, "generation": s.var() + 1}
        if self.base in ("text", "list"):
            n = s.var()
            must(n <= self.most)
            if self.base == "text":
                return bytes(s.read(8) for _ in range(n)).decode("utf-8", "replace")
            return [{f.path: f.read(s) for f in self.elements} for _ in range(n)]
        if self.base == "quat":
            q, largest, total = [0.0] * 4, s.read(2), 0.0
            for i in range(4):
                if i != largest:
                    g = s.read(self.bits) * (SQRT2 / self.most) - SQRT2 / 2
                    q[i], total = single(g), total + g * g
            q[largest] = single(math.sqrt(max(0.0, 1 - total)))
            return q
        n = s.var() if self.short else s.read(self.most.bit_length())
        must(n <= self.most)
        return self.value(n)

    def value(self, n):
        if self.base == "bool":
            return n == 1
        if self.base in "ui":
            return n + self.low
        if self.base == "half":  # halves are numbered in the order of their values
            h, sign = (n - 31744, 1.0) if n >= 31744 else (31743 - n, -1.0)
            return sign * (math.ldexp(h, -24) if h < 1024 else math.ldexp(h % 1024 + 1024, h // 1024 - 25))
        if self.base == "axis":
            x = (n - 127) / 127
        elif self.base == "angle":
            x = (n - (n >> (self.bits - 1) << self.bits)) * (2 * math.pi / (1 << self.bits))
        elif self.bounded:
            x = min(self.min + n * self.step, self.max)
        else:
            return struct.unpack("<f", struct.pack("<I", n))[0] if self.width == 32 else struct.unpack("<d", struct.pack("<Q", n))[0]
        return self.sized(x)

    def sized(self, x):
        return single(x) if self.width == 32 else x

    def number(self, v):
        """The number of a value, for kinds that have one; None is zero."""
        if self.base == "bool" or self.base in "ui":
            return int(v or 0) - self.low
        v = v or 0.0
        if self.base == "axis":
            return math.floor(v * 127 + 0.5) + 127
        if self.base == "angle":
            return math.floor(v / (2 * math.pi) * (1 << self.bits) + 0.5) & self.most
        if self.bounded:
            return math.floor((min(max(v, self.min), self.max) - self.min) / self.step + 0.5)
        return int.from_bytes(struct.pack("<f" if self.width == 32 else "<d", v), "little")

    def write(self, s, v):
        if self.base == "text":
            data = (v or "").encode()
            s.write_var(len(data))
            s.write(int.from_bytes(data, "little"), 8 * len(data))
        elif self.short:
            s.write_var(self.number(v))
        else:
            s.write(self.number(v), self.most.bit_length())


class Shape:
    """The description of a component, an input or a message: "name{path:kind;path:kind}rest"."""

    def __init__(self, text):
        self.name, fields = text.split("{", 1)
        fields, self.rest = fields.rsplit("}", 1)
        self.raw = fields == "raw" or fields.startswith("serialized")
        self.fields = [Field(f) for f in fields.split(";") if ":" in f and not self.raw]
        self.name = self.rest[4:] if self.rest.startswith(" of ") else self.name  # a distance band stands for its component
        self.channel = 0
        for i, mode in enumerate((";Unreliable ", ";UnreliableSequenced ", ";Reliable ", ";ReliableOrdered ")):
            if mode in self.rest:
                self.channel = i << 6 | int(self.rest.split(mode)[1].split("]")[0].split(";")[0])

    def read(self, s):
        return {f.path: f.read(s) for f in self.fields}

    def write(self, s, row):
        for f in self.fields:
            f.write(s, row.get(f.path))
        return s


class Protocol:
    """What a client knows of the game: the entries of Protocol.Description, or those of a lock file (entries_of)."""

    def __init__(self, entries):
        entries = [entries[0].split(";tables:")[0] + ";plain}"] + entries[1:]
        self.hash = fnv("".join(e + "\n" for e in entries).encode(), 0xCBF29CE484222325, 0x100000001B3, 64)
        self.hashes = [fnv(e.encode(), 0x811C9DC5, 0x1000193, 32) for e in entries]
        self.components, self.messages, self.inputs = (
            [Shape(e[len(kind):]) for e in entries if e.startswith(kind)] for kind in ("component ", "message ", "input "))


def entries_of(lock):
    entries, fields = [], []
    for line in lock.split("\n"):
        if line.endswith(" {"):
            head, fields = line.rsplit(" #", 1)[0], []
        elif line.startswith("\t"):
            fields.append(line[1:])
        elif line.startswith("}"):
            entries.append(head + "{" + ";".join(fields) + line)
    return entries
