# A thin client of arche-netcode: the plain profile of docs/plain.md. For Godot 4 and 3: no name that one of them lacks.
# It does no I/O: receive() takes datagrams, update() returns those to send, as arrays of bytes. Times are milliseconds.

const OPEN = 0x7BD5C66F # the seed before the session

class Bits: # a bit stream, the least significant bit of a byte first
	var data; var at = 0; var bad = false # bad: it has what no honest server sends

	func _init(bytes): data = bytes

	func read(n):
		bad = bad or at + n > 8 * data.size()
		var v = 0
		for i in (0 if bad else n):
			v |= ((data[at >> 3] >> (at & 7)) & 1) << i
			at += 1
		return v

	func read_var():
		var n = 2
		while not bad and read(1) == 0:
			n += 1
			bad = bad or n > 32
		var v = read(n) + (1 << n) - 4
		return 0 if bad else v

	func bytes(n):
		bad = bad or at + 8 * n > 8 * data.size()
		var part = []
		for i in (0 if bad else n): part.append(data[(at >> 3) + i])
		at += 8 * n
		return part

	func rest(): return bytes(data.size() - (at >> 3))

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

var connected = false; var closed = ""; var closing = 0 # closed tells why it is over; set closing to 3 to leave
var id = 0; var tick = 0; var rate = 0 # ticks a second
var entities = {} # by index: [generation, tick of the newest record, rows by component, or null once it is gone]
var messages = [] # that came: [name, row, the entity that it is about: index and generation]
var shapes = {"component": [], "input": [], "message": []}; var protocol = {} # the bytes of "hash" and "entries"
var nonce; var payload; var cookie = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]; var session_seed = -1
var sent_at = -1e9; var heard_at; var asked_at
var out = 0; var newest_in = 0; var mask = 0 # of packets: bit i of mask tells that newest_in - i was taken
var streams = {}; var credit = 131072; var once = []; var repeat = []; var numbers = {} # messages
var first = 0.0; var began = 0.0; var newest = 0; var input_rows = [] # first is the tick of inputs at the time began
var table = []; var buffer = StreamPeerBuffer.new()

func _init(text, n, payload_bytes, now): # text is of "netcode schema plain", n is 8 random bytes
	nonce = n; payload = payload_bytes; heard_at = now
	for i in 256:
		var c = i
		for _k in 8: c = (c >> 1) ^ (0xEDB88320 if c & 1 else 0)
		table.append(c)
	var fields = []
	for line in text.strip_edges().split("\n"):
		var w = line.split(" ")
		if w[0] == "field" or w[0] == "element":
			var f = {"path": w[1], "form": w[2], "bits": int(w[3]), "most": int(w[4]), "elements": []}
			f.low = int(w[5]) if f.form == "int" else w[5].to_float()
			f.step = (w[6].to_float() - f.low) / (f.most if f.most > 0 else 1)
			(fields if w[0] == "field" else fields[-1].elements).append(f)
		elif shapes.has(w[0]):
			fields = []
			shapes[w[0]].append({"name": w[1], "fields": fields, "channel": int(w[2]) if w.size() > 2 else 0})
		else:
			protocol[w[0]] = []
			for i in range(1, w.size()): protocol[w[0]].append(int(w[i]))

func pack(put, v): # the bytes of a number or a text
	buffer.clear(); buffer.call(put, v)
	return Array(buffer.data_array)

func unpack(get, b):
	buffer.clear()
	for c in b: buffer.put_u8(c)
	buffer.seek(0)
	return buffer.call(get, b.size()) if get == "get_utf8_string" else buffer.call(get)

func crc(b, from = 0):
	var c = from ^ 0xFFFFFFFF
	for x in b: c = table[(c ^ x) & 255] ^ (c >> 8)
	return c ^ 0xFFFFFFFF

func sealed(from, b): return b + pack("put_u32", crc(b, from))

func message(type, stage, body): return [type, stage] + pack("put_u16", body.size()) + body

func near(low, to): return to + ((low - to + 0x8000) & 0xFFFF) - 0x8000 # the nearest number with these 16 low bits

func read_row(fields, s):
	var row = {}
	for f in fields: row[f.path] = read_field(f, s)
	return row

func read_field(f, s):
	if f.form == "entity":
		if s.read(1) == 0: return null # nobody
		var m = s.read(5)
		return {"index": s.read(m) | 1 << m if m > 0 else s.read(1), "generation": s.read_var() + 1}
	if f.form == "quat": # x, y, z, w: the largest is left out
		var q = [0.0, 0.0, 0.0, 0.0]; var largest = s.read(2); var rest = 1.0
		for i in 4:
			if i != largest: q[i] = s.read(f.bits) * (sqrt(2.0) / ((1 << f.bits) - 1)) - sqrt(2.0) / 2
			rest -= q[i] * q[i]
		q[largest] = sqrt(rest if rest > 0 else 0.0)
		return q
	var counted = f.form == "text" or f.form == "list"
	var n = s.read_var() if counted or f.form == "short" else s.read(f.bits)
	s.bad = s.bad or f.most > 0 and n > f.most
	var all = [] # bytes of a text, or rows of a list
	for _i in (n if counted and not s.bad else 0):
		all.append(s.read(8) if f.form == "text" else read_row(f.elements, s))
	match f.form:
		"text": return unpack("get_utf8_string", all)
		"list": return all
		"bytes": return s.rest()
		"bool": return n == 1
		"int", "short": return n + int(f.low)
		"half": # halves are numbered in the order of their values
			var h = n - 31744 if n >= 31744 else 31743 - n
			var size = h * pow(2, -24) if h < 1024 else ((h & 1023) + 1024) * pow(2, (h >> 10) - 25)
			return size if n >= 31744 else -size
		"float": return unpack("get_float" if f.bits == 32 else "get_double", pack("put_64", n))
	return f.low + n * f.step

func write_row(fields, s, row):
	for f in fields:
		var v = row[f.path]
		match f.form:
			"text":
				var b = pack("put_utf8_string", v) # its first four bytes are the length
				s.write_var(b.size() - 4)
				for i in range(4, b.size()): s.write(b[i], 8)
			"float":
				for c in pack("put_float" if f.bits == 32 else "put_double", v): s.write(c, 8)
			"scaled": s.write(int(clamp(floor((v - f.low) / f.step + 0.5), 0, f.most)), f.bits)
			"angle": s.write(int(floor(v / f.step + 0.5)), f.bits)
			"short": s.write_var(int(v))
			"int", "bool": s.write(int(v) - int(f.low), f.bits)
			_: push_error("a field of this form is not written: " + f.form)

func receive(datagram, now): # one that is damaged or illegal has no effect
	var s = Bits.new(datagram)
	var b = s.bytes(datagram.size() - 4)
	if b.size() == 0 or closed != "": return
	var session = session_seed >= 0 and (b[0] < 0x80 or b[0] == 0x86)
	if crc(b, session_seed ^ 0xFFFFFFFF if session else OPEN) != s.read(32): return
	s = Bits.new(b)
	if session and b[0] < 0x80 and connected:
		if read_packet(s): heard_at = now
	elif session and b[0] == 0x86 and b.size() == 29 and not connected:
		s.read(8); id = s.read(32); tick = s.read(64)
		connected = true; heard_at = now; began = now; sent_at = -1e9
		first = tick + 2 + rate * (now - asked_at) / 1000
	elif session_seed < 0 and s.read(8) == b[0] and s.bytes(8) == nonce:
		if b[0] == 0x82 and b.size() == 25:
			cookie = s.bytes(16); sent_at = -1e9
		elif b[0] == 0x83 and b.size() == 19 and b[13] + b[14] > 0:
			session_seed = crc(s.bytes(4) + protocol.hash)
			rate = s.read(16); asked_at = now; sent_at = -1e9
		elif b[0] == 0x84 and b.size() > 9 and b[9] != 37 and b[9] != 39: close_by("refused", s)

func close_by(what, s):
	var reason = s.read(8)
	if not s.bad: closed = "%s, reason %d: %s" % [what, reason, unpack("get_utf8_string", s.rest())]

func update(now): # returns the datagrams that are due; call it each frame
	if closed == "" and now - heard_at > (10000 if connected else 5000): closed = "silence"
	if closed != "" or now - sent_at < (1000.0 / rate - 1 if connected else 250 if session_seed < 0 else 100): return []
	sent_at = now
	if connected: return [sealed(session_seed, packet(now))]
	if session_seed >= 0: return [sealed(session_seed, [0x85] + nonce + cookie + payload)]
	var hello = [0x81, 1, 0] + nonce + protocol.hash + cookie + protocol.entries
	while hello.size() < 508: hello.append(0)
	return [sealed(OPEN, hello)]

func read_packet(s): # returns false if it is illegal
	var flags = s.read(8); var number = near(s.read(16), newest_in)
	var ack = near(s.read(16), out) if flags & 1 else -1
	var bits = 1 # bit i tells that the server took packet ack - i
	for k in 4: bits |= (s.read(8) if flags & (2 << k) else 255) << (1 + 8 * k)
	s.read(16 if flags & 32 else 0)
	var ahead = number - newest_in
	if number < 1 or ahead < -32 or ahead <= 0 and (mask >> -ahead) & 1: return not s.bad
	var parts = []; var channel = -1
	while not s.bad and (channel < 0 or s.at < 8 * s.data.size()):
		var end = s.at; end += 8 * s.read(16)
		channel = s.read(8) if channel >= 0 else 0
		while s.at < end and not s.bad: parts.append([channel, s.read(8), s.read(8), s.bytes(s.read(16))])
		s.bad = s.bad or s.at != end
	if s.bad: return false
	for p in parts:
		if p[1] == 1 and not read_snapshot(Bits.new(p[3])): return false
	for m in repeat.duplicate():
		for p in m.packets:
			if p <= ack and p >= ack - 32 and (bits >> (ack - p)) & 1: repeat.erase(m)
	mask = 1 if ahead > 32 else (mask << ahead | 1) & 0x1FFFFFFFF if ahead > 0 else mask | 1 << -ahead
	if ahead > 0: newest_in = number
	for p in parts: take(p[0], p[1], p[2], Bits.new(p[3]))
	return true

func read_snapshot(s): # returns false if it is illegal
	var at = near(s.read(16), tick)
	var changes = []; var index = -1; var head = null # changes are [index, generation, rows]
	while s.read(1) == 1:
		index += s.read_var() + 1
		changes.append([index, s.read_var(), null])
	index = -1
	while not s.bad:
		index += 1
		if s.read(1) == 0:
			var gap = s.read_var()
			if gap == 0: break
			index = (index + gap - 1) & 0xFFFFF
			if s.read(1) == 0:
				head = [s.read(1), []]
				for c in shapes.component:
					if s.read(1) == 1: head[1].append([c, s.read(1)])
		if head == null: return false
		var generation = s.read_var() if head[0] == 1 else -1 # -1: of the entity that is here
		var rows = {} # null: as before
		for c in head[1]: rows[c[0].name] = read_row(c[0].fields, s) if c[1] == 1 else null
		changes.append([index, generation, rows])
	for c in changes: s.bad = s.bad or c[0] >= 1 << 20 or c[1] == 0 or c[1] >= 1 << 32
	if s.bad or at < 1: return false
	for c in changes:
		var was = entities[c[0]] if entities.has(c[0]) else [0, -1, null]
		var generation = c[1] if c[1] > 0 else was[0]
		if generation < was[0] or generation == was[0] and at <= was[1] or c[1] < 0 and was[2] == null: continue
		for name in (c[2] if c[2] != null else {}):
			if c[2][name] == null: c[2][name] = was[2][name] if c[1] < 0 and was[2].has(name) else {}
		entities[c[0]] = [generation, at, c[2]]
	if at > tick: tick = at
	return true

func take(channel, type, stage, s): # a message
	if channel >= 0x80: # Reliable too is taken in the order of the numbers
		if not streams.has(channel): streams[channel] = {"next": 0, "whole": []}
		var stream = streams[channel]
		var number = near(s.read(16), stream.next)
		if not s.bad and number >= stream.next and number < stream.next + 1024: stream[number] = [type, stage, s]
		while stream.has(stream.next):
			var m = stream[stream.next]; stream.erase(stream.next); stream.next += 1
			credit += m[2].data.size() + 32
			if m[0] == 6: take_piece(stream.whole, m[2])
			else: handle(m[0], m[1], m[2])
	elif type == 2:
		var at = near(s.read(16), tick)
		if at > tick and not s.bad: tick = at
	elif type == 3: close_by("closed", s)
	elif type == 8: # inputs should come one to three ticks early
		var early = ((s.read(32) >> 16 ^ 0x8000) - 0x8000) / 256.0
		if not s.bad: first += min(2 - early, 16) if early < 1 else -0.05 if early > 3 else 0.0
	else: handle(type, stage, s)

func take_piece(pieces, s): # of a long message
	var head = s.bytes(4); var whole = [] # head: type, stage, index and number of pieces
	if s.bad: return
	while pieces.size() > head[2]: pieces.pop_back()
	pieces.append(s.rest())
	for piece in pieces: whole += piece
	if head[2] + 1 == head[3]: handle(head[0], head[1], Bits.new(whole))

func handle(type, stage, s):
	var about = []; s.read(16 if stage & 8 else 0)
	for _i in (2 if stage & 16 else 0): # a varint
		var a = s.read(8); var v = 0
		for _k in (0 if a <= 240 else 1 if a <= 248 else 2 if a == 249 else a - 247): v = v * 256 + s.read(8)
		about.append(a if a <= 240 else 240 + 256 * (a - 241) + v if a <= 248 else v + 2288 if a == 249 else v)
	s.read((16 if stage & 32 else 0) + (16 if stage & 64 else 0))
	if type < 16 or type >= 16 + shapes.message.size(): return
	var shape = shapes.message[type - 16]
	var row = read_row(shape.fields, s)
	if not s.bad: messages.append([shape.name, row, about])

func send(name, row): # with the delivery that the message is registered with
	var i = 0
	while shapes.message[i].name != name: i += 1
	var s = Bits.new([]); var c = shapes.message[i].channel
	if c >= 0x80:
		numbers[c] = numbers[c] + 1 if numbers.has(c) else 0
		s.write(numbers[c], 16)
	write_row(shapes.message[i].fields, s, row)
	var data = message(16 + i, 4, s.data)
	if c < 0x80: once += data
	else: repeat.append({"channel": c, "data": data, "at": -1e9, "packets": {}})

func set_input(now, rows): # a row for each input; call it each frame, before update
	var at = int(first + rate * (now - began) / 1000)
	newest = at - 1 if newest == 0 else at - 8 if newest < at - 8 else newest
	while newest < at:
		newest += 1; input_rows.append(rows)
		if input_rows.size() > 8: input_rows.pop_front()

func packet(now):
	out += 1
	var own = once if newest_in > 0 else once + message(2, 0, []); once = [] # KeepAlive
	if input_rows.size() > 0:
		var s = Bits.new([]); s.write(newest & 0xFFFF | 0xFFFF0000, 32)
		for i in shapes.input.size():
			s.write_var(input_rows.size())
			for rows in input_rows: write_row(shapes.input[i].fields, s, rows[i])
		own += message(9, 0, s.data)
	if credit > 131072: own += message(5, 0, pack("put_u32", credit & 0xFFFFFFFF))
	if closing > 0:
		own += message(3, 0, [1])
		closing -= 1; closed = "closed" if closing == 0 else ""
	var flags = 1 if newest_in > 0 else 0
	var acks = pack("put_u16", newest_in & 0xFFFF) if newest_in > 0 else []
	for k in (4 if newest_in > 0 else 0):
		var bits = (mask >> (1 + 8 * k)) & 255
		flags |= 0 if bits == 255 else 2 << k
		acks += [] if bits == 255 else [bits]
	var b = [flags] + pack("put_u16", out & 0xFFFF) + acks + pack("put_u16", 2 + own.size()) + own
	for m in repeat:
		if now - m.at < 200: continue
		m.at = now; m.packets[out] = true
		return b + pack("put_u16", 3 + m.data.size()) + [m.channel] + m.data # one reliable message a packet
	return b
