# Descriptions, bits and rows of the plain profile of arche-netcode, docs/plain.md, sections 1 and 2. netcode_plain.gd is the client on it.
# A row is a Dictionary by path. Values: bool, int, float, [x, y, z, w], String, an Array of rows, and [index, generation] for an entity.

class Bits: # the least significant bit of a byte first
	var data; var at = 0; var bad = false
	func _init(bytes = []): data = bytes
	func read(n):
		if at + n > 8 * data.size(): bad = true
		if bad: return 0
		var v = 0
		for i in n:
			v |= ((data[at >> 3] >> (at & 7)) & 1) << i
			at += 1
		return v
	func read_var():
		var n = 2
		while not bad and read(1) == 0:
			n += 1
			if n > 62: bad = true
		var v = read(n) + (1 << n) - 4
		return 0 if bad else v
	func write(v, n):
		for i in n:
			if at & 7 == 0: data.append(0)
			if v & (1 << i) != 0: data[at >> 3] |= 1 << (at & 7)
			at += 1
	func write_var(v):
		var n = 2
		while (v + 4) >> (n + 1) != 0: n += 1
		write(1 << (n - 2), n - 1)
		write(v + 4, n)

class Conv: # numbers as bytes, in both versions of Godot
	var b = StreamPeerBuffer.new()
	func bytes(call, v):
		b.clear()
		b.call(call, v)
		return Array(b.data_array)
	func number(call, from, at = 0, n = -1): # call gets the number out of n bytes
		b.clear()
		for i in (from.size() - at if n < 0 else n): b.put_u8(from[at + i])
		b.seek(0)
		return b.call(call, b.get_size()) if call == "get_utf8_string" else b.call(call)

var conv = Conv.new()
var components = []; var messages_of = []; var inputs = []; var hashes = []; var protocol_hash = 0

# describe takes the lines of Protocol.Description, or those of entries_of(lock file).
func describe(entries):
	protocol_hash = -3750763034362895579 # 0xCBF29CE484222325
	for i in entries.size():
		var e = entries[i] if i > 0 else entries[0].split(";tables:")[0] + ";plain}"
		var h = 0x811C9DC5
		for c in utf8(e):
			h = ((h ^ c) * 0x1000193) & 0xFFFFFFFF
			protocol_hash = (protocol_hash ^ c) * 0x100000001B3
		protocol_hash = (protocol_hash ^ 10) * 0x100000001B3
		hashes.append(h)
		for kind in [["component ", components], ["message ", messages_of], ["input ", inputs]]:
			if e.begins_with(kind[0]): kind[1].append(shape(e.substr(kind[0].length())))

static func entries_of(lock):
	var entries = []; var fields = []; var head = ""
	for line in lock.split("\n"):
		if line.ends_with(" {"):
			head = line.substr(0, line.rfind(" #")); fields = []
		elif line.begins_with("\t"): fields.append(line.substr(1))
		elif line.begins_with("}"):
			var text = ""
			for f in fields: text += (";" if text != "" else "") + f
			entries.append(head + "{" + text + line)
	return entries

func shape(text): # name{path:kind;path:kind}rest
	var end = text.rfind("}"); var rest = text.substr(end + 1); var name = text.split("{")[0]
	var list = text.substr(name.length() + 1, end - name.length() - 1)
	var s = {"name": name if not rest.begins_with(" of ") else rest.substr(4), "raw": list == "raw" or list.begins_with("serialized"), "fields": [], "channel": 0}
	for f in list.split(";"):
		if ":" in f and not s.raw: s.fields.append(field(f))
	var modes = [";Unreliable ", ";UnreliableSequenced ", ";Reliable ", ";ReliableOrdered "]
	for i in 4:
		if modes[i] in rest: s.channel = (i << 6) | int(rest.split(modes[i])[1].split("]")[0].split(";")[0])
	return s

func field(text):
	var colon = text.find(":"); var kind = text.substr(colon + 1)
	var f = {"path": text.substr(0, colon), "type": kind, "most": 1, "wide": 1, "low": 0, "width": 0, "bits": 0, "short": false, "bounded": false}
	if kind.ends_with(")"):
		f.type = "list"; f.most = int(kind.split("(")[0].substr(4)); f.elements = []
		for e in kind.substr(kind.find("(") + 1, kind.length() - kind.find("(") - 2).split(" "): f.elements.append(field(e))
		return f
	var halves = kind.split("~")[0].replace("]", "").split("[")
	f.bounded = halves.size() > 1; f.short = halves[0].ends_with("short")
	kind = halves[0].replace("short", ""); f.type = kind
	for t in ["angle", "quat", "text", "half", "axis"]:
		var at = kind.find(t)
		if at >= 0:
			f.type = t; f.width = int(kind.substr(1, at - 1)) if at > 0 else 0; f.bits = int(kind.substr(at + t.length()))
			f.most = {"text": f.bits, "half": 63487, "axis": 254}[t] if t != "angle" and t != "quat" else (1 << f.bits) - 1
	if f.type == kind and kind != "bool" and kind != "entity":
		f.type = kind.substr(0, 1); f.width = int(kind.substr(1))
		f.most = -1 if f.width == 64 else (1 << f.width) - 1
		if f.type == "i": f.low = -(1 << (f.width - 2)) * 2
		var bounds = halves[1].split(",") if f.bounded else []
		if f.bounded and f.type == "f":
			f.min = sized(f, bounds[0].to_float()); f.max = sized(f, bounds[1].to_float())
			f.most = int(ceil((f.max - f.min) / bounds[2].to_float() - 1e-6)); f.step = (f.max - f.min) / f.most
		elif f.bounded:
			f.low = int(bounds[0]); f.most = int(bounds[1]) - f.low
	f.wide = 64 if f.most < 0 else 0
	while f.most >= 0 and f.most >> f.wide != 0: f.wide += 1
	return f

func sized(f, x): return conv.number("get_float", conv.bytes("put_float", x)) if f.width == 32 else x

func read_row(fields, s):
	var row = {}
	for f in fields: row[f.path] = read_field(f, s)
	return row

func read_field(f, s):
	if f.type == "entity":
		if s.read(1) == 0: return [0, 0] # nobody
		var m = s.read(5); var index = s.read(m if m > 1 else 1) | (1 << m if m > 0 else 0)
		return [index, s.read_var() + 1]
	if f.type == "quat":
		var q = [0.0, 0.0, 0.0, 0.0]; var largest = s.read(2); var sum = 0.0; var root = sqrt(2.0)
		for i in 4:
			if i == largest: continue
			var g = s.read(f.bits) * (root / f.most) - root / 2
			q[i] = conv.number("get_float", conv.bytes("put_float", g)); sum += g * g
		q[largest] = conv.number("get_float", conv.bytes("put_float", sqrt(1 - sum if sum < 1 else 0.0)))
		return q
	var n = s.read_var() if f.short or f.type == "text" or f.type == "list" else s.read(f.wide)
	if f.most >= 0 and n > f.most: s.bad = true
	var all = []
	for _i in (n if (f.type == "text" or f.type == "list") and not s.bad else 0): all.append(s.read(8) if f.type == "text" else read_row(f.elements, s))
	match f.type:
		"text": return conv.number("get_utf8_string", all)
		"list": return all
		"bool": return n == 1
		"u", "i": return n + f.low
		"half": # halves are numbered in the order of their values
			var h = n - 31744 if n >= 31744 else 31743 - n
			return (1.0 if n >= 31744 else -1.0) * (h * pow(2, -24) if h < 1024 else ((h & 1023) + 1024) * pow(2, (h >> 10) - 25))
		"axis": return sized(f, (n - 127) / 127.0)
		"angle": return sized(f, (n - ((1 << f.bits) if n >> (f.bits - 1) else 0)) * (2 * PI / (1 << f.bits)))
	if f.bounded: return sized(f, f.min + n * f.step if f.min + n * f.step < f.max else f.max)
	return conv.number("get_float", conv.bytes("put_u32", n)) if f.width == 32 else conv.number("get_double", conv.bytes("put_64", n))

func write_row(fields, s, row):
	for f in fields:
		var v = row[f.path] if row.has(f.path) else 0
		if f.type == "text":
			var b = utf8(v if v is String else "")
			s.write_var(b.size())
			for c in b: s.write(c, 8)
			continue
		var n = int(v) - f.low
		if f.type == "axis": n = int(floor(v * 127.0 + 0.5)) + 127
		elif f.type == "angle": n = int(floor(v / (2 * PI) * (1 << f.bits) + 0.5)) & f.most
		elif f.type == "f" and f.bounded: n = int(floor((clamp(float(v), f.min, f.max) - f.min) / f.step + 0.5))
		elif f.type == "f": n = conv.number("get_u32", conv.bytes("put_float", v)) if f.width == 32 else conv.number("get_64", conv.bytes("put_double", v))
		if f.short: s.write_var(n)
		else: s.write(n, f.wide)
	return s

func utf8(text):
	var b = conv.bytes("put_utf8_string", text)
	return cut(b, 4, b.size())

func cut(b, at, end): # the bytes from at to end
	var part = []
	for i in range(at, end): part.append(b[i])
	return part
