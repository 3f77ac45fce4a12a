# A thin client of arche-netcode: the plain profile of docs/plain.md. For Godot 4, and for Godot 3: no name that one of them lacks.
# It does no I/O: receive() takes datagrams (PackedByteArray), update() returns those to send (arrays of bytes). Times are milliseconds of one clock.
extends "netcode_rows.gd"

var connected = false; var closed = ""; var id = 0; var rate = 0.0; var messages = []; var closing = 0
var tick = 0; var entities = {} # by index: [generation, tick of the newest record, rows by component, or null once it is gone]
var nonce; var payload; var cookie = []; var seed_of = -1; var sent_at = -1e9; var heard_at; var asked_at
var got = {}; var newest_in = 0; var out = 0; var flying = {}; var eliciting = false
var streams = {}; var credit = 0; var once = []; var repeat = []; var numbers = {}
var first = 0.0; var began = 0.0; var newest = 0; var input_rows = []
var table = []

# entries are the lines of Protocol.Description, or those of entries_of(lock file). n is 8 random bytes.
func _init(entries, n, payload_bytes, now):
	for i in 256:
		var c = i
		for _k in 8: c = (c >> 1) ^ (0xEDB88320 if c & 1 else 0)
		table.append(c)
	nonce = n; payload = payload_bytes; heard_at = now; asked_at = now
	for _i in 16: cookie.append(0)
	describe(entries)

func near(low, to):
	var d = (low - to) & 0xFFFF
	return to + d - (0x10000 if d >= 0x8000 else 0)

func snapshot(s): # returns the changes, null if the bits are illegal
	var changes = [near(s.read(16), tick)]; var last = 0; var head = null
	while s.read(1) == 1:
		last += s.read_var() + 1
		changes.append([last - 1, s.read_var(), null, null])
	last = 0
	while not s.bad:
		if s.read(1) == 0:
			var gap = s.read_var()
			if gap == 0: break
			last = (last + gap - 1) & 0xFFFFF
			if s.read(1) == 0:
				head = [s.read(1), [], []]
				for c in components:
					if s.read(1) == 1:
						head[1].append(c.name)
						if s.read(1) == 1: head[2].append(c)
		if head == null: return null
		var generation = s.read_var() if head[0] == 1 else 0; var rows = {}
		for c in head[2]: rows[c.name] = read_row(c.fields, s)
		changes.append([last, generation, rows, head[1]])
		last += 1
	return null if s.bad else changes

func apply(changes):
	var at = changes.pop_front()
	for c in changes:
		var was = entities[c[0]] if entities.has(c[0]) else [0, -1, null]
		var generation = c[1] if c[1] > 0 else was[0]
		if generation < was[0] or generation == was[0] and at <= was[1] or c[3] != null and c[1] == 0 and was[2] == null: continue
		var rows = null if c[3] == null else {}
		for n in (c[3] if c[3] != null else []): rows[n] = c[2][n] if c[2].has(n) else was[2][n] if c[1] == 0 and was[2].has(n) else {}
		entities[c[0]] = [generation, at, rows]
	tick = at if at > tick else tick

func crc(b, n, from):
	var c = from ^ 0xFFFFFFFF
	for i in n: c = table[(c ^ b[i]) & 255] ^ (c >> 8)
	return c ^ 0xFFFFFFFF

func open_seed(): return crc([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 12, 0)
func sealed(from, b): return b + conv.bytes("put_u32", crc(b, b.size(), from))
func message(type, stage, body): return [type, stage] + conv.bytes("put_u16", body.size()) + body
func receive(b, now): # one that is damaged or illegal has no effect
	var n = b.size() - 4
	if n < 1 or closed != "": return
	var session = seed_of >= 0 and (b[0] < 0x80 or b[0] == 0x86)
	if crc(b, n, seed_of ^ 0xFFFFFFFF if session else open_seed()) != conv.number("get_u32", b, n, 4): return
	if session and b[0] < 0x80 and connected:
		if read_packet(b, n): heard_at = now
	elif session and b[0] == 0x86 and n == 29 and not connected:
		id = conv.number("get_u32", b, 1, 4); tick = conv.number("get_64", b, 5, 8); connected = true
		heard_at = now; began = now; sent_at = -1e9; first = tick + 2 + rate * (now - asked_at) / 1000
	elif not session and b[0] >= 0x82 and n > 9 and cut(b, 1, 9) == nonce and not connected:
		if b[0] == 0x82 and n == 25 and seed_of < 0:
			cookie = cut(b, 9, 25); sent_at = -1e9
		elif b[0] == 0x83 and n == 19 and seed_of < 0:
			seed_of = crc(cut(b, 9, 13) + conv.bytes("put_64", protocol_hash), 12, 0)
			rate = float(conv.number("get_u16", b, 13, 2)); asked_at = now; sent_at = -1e9
		elif b[0] == 0x84 and b[9] != 37 and b[9] != 39:
			closed = "refused, reason %d: %s" % [b[9], conv.number("get_utf8_string", cut(b, 10, n))]

func update(now): # returns the datagrams that are due; call it each frame
	if closed != "": return []
	if now - heard_at > (10000 if connected else 5000): closed = "silence"
	elif connected: return packet(now)
	elif seed_of < 0 and now - sent_at >= 250:
		var hello = [0x81, 1, 0] + nonce + conv.bytes("put_64", protocol_hash) + cookie + conv.bytes("put_u16", hashes.size())
		for i in (hashes.size() if hashes.size() < 117 else 117): hello += conv.bytes("put_u32", hashes[i])
		while hello.size() < 508: hello.append(0)
		sent_at = now
		return [sealed(open_seed(), hello)]
	elif seed_of >= 0 and now - sent_at >= 100:
		sent_at = now
		return [sealed(seed_of, [0x85] + nonce + cookie + payload)]
	return []

func read_packet(b, n): # n is its length without the checksum; false: it is illegal
	if n < 5: return false
	var number = near(b[1] | b[2] << 8, newest_in); var at = 3; var acks = []; var parts = []; var changes = null
	if b[0] & 1:
		var ack = near(b[3] | b[4] << 8, out); at = 5; acks = [ack]
		for k in 4:
			var bits = 255
			if (b[0] >> (1 + k)) & 1:
				if at >= n: return false
				bits = b[at]; at += 1
			for i in 8:
				if (bits >> i) & 1: acks.append(ack - 1 - 8 * k - i)
		if b[0] & 32: at += 2
	if number < 1 or number <= newest_in - 256 or got.has(number): return true
	var channel = -1
	while channel < 0 or at < n:
		if at + 3 > n and at + 2 != n: return false
		var end = at + (b[at] | b[at + 1] << 8); at += 2
		if channel >= 0:
			at += 1
		channel = b[at - 1] if channel >= 0 else 0
		if end > n or end < at: return false
		while at < end:
			if at + 4 > end or at + 4 + (b[at + 2] | b[at + 3] << 8) > end: return false
			var size = b[at + 2] | b[at + 3] << 8
			parts.append([channel, b[at], b[at + 1], cut(b, at + 4, at + 4 + size)])
			if b[at] == 1 and channel == 0:
				changes = snapshot(Bits.new(parts[-1][3]))
				if changes == null: return false
			at += 4 + size
	if changes != null: apply(changes)
	for a in acks:
		for m in (flying[a] if flying.has(a) else []): m.done = true
		flying.erase(a)
	got[number] = true
	if number > newest_in:
		for old in range(newest_in - 255, number - 255): got.erase(old)
		newest_in = number
	eliciting = eliciting or parts.size() > 0
	for p in parts: take(p[0], p[1], p[2], p[3])
	return true

func take(channel, type, stage, b):
	if channel >= 0x80 and b.size() >= 2: # Reliable too is taken in the order of the numbers
		if not streams.has(channel): streams[channel] = {"next": 0, "whole": []}
		var s = streams[channel]; var number = near(b[0] | b[1] << 8, s.next)
		if number >= s.next and number < s.next + 1024: s[number] = [type, stage, b]
		while s.has(s.next):
			var m = s[s.next]; b = m[2]
			s.erase(s.next); s.next += 1; credit += b.size() + 32
			if m[0] != 6: handle(m[0], m[1], cut(b, 2, b.size()))
			elif b.size() > 6: # a piece
				s.whole += cut(b, 6, b.size())
				if b[4] == b[5] - 1:
					var whole = s.whole; s.whole = []
					handle(b[2], b[3], whole)
	elif type == 2 and b.size() >= 2: tick = max(tick, near(b[0] | b[1] << 8, tick))
	elif type == 3 and b.size() >= 1: closed = "closed, reason %d: %s" % [b[0], conv.number("get_utf8_string", b, 1)]
	elif type == 8 and b.size() >= 4: # inputs should come one to three ticks early
		var early = conv.number("get_16", b, 2, 2) / 256.0
		first += (2 - early if early > -14 else 16.0) if early < 1 else -0.05 if early > 3 else 0.0
	elif type >= 16: handle(type, stage, b)

func handle(type, stage, b):
	var s = Bits.new(b); var entity = []
	if stage & 8: s.read(16)
	for _i in (2 if stage & 16 else 0): # varint
		var a = s.read(8); var v = 0
		for _k in (0 if a <= 240 else 1 if a <= 248 else 2 if a == 249 else a - 247): v = v * 256 + s.read(8)
		entity.append(a if a <= 240 else 240 + 256 * (a - 241) + v if a <= 248 else v + 2288 if a == 249 else v)
	for flag in [32, 64]: s.read(16 if stage & flag else 0)
	if s.bad or type < 16 or type >= 16 + messages_of.size(): return
	var of = messages_of[type - 16]
	messages.append([of.name, cut(b, s.at >> 3, b.size()) if of.raw else read_row(of.fields, s), entity])

func send(name, row): # with the delivery that the message is registered with
	for i in messages_of.size():
		var of = messages_of[i]; var c = of.channel
		if of.name != name: continue
		var body = write_row(of.fields, Bits.new([]), row).data
		if c < 0x80: once += message(16 + i, 4, body)
		else:
			numbers[c] = numbers[c] + 1 if numbers.has(c) else 0
			repeat.append({"channel": c, "data": message(16 + i, 4, conv.bytes("put_u16", numbers[c] & 0xFFFF) + body), "at": -1e9, "done": false})

func set_input(now, rows): # a row for each of inputs; call it each frame, before update
	var at = int(first + rate * (now - began) / 1000)
	if newest == 0: newest = at - 1
	while newest < at:
		newest += 1; input_rows.append(rows)
		if input_rows.size() > 8: input_rows.pop_front()

func packet(now):
	if now - sent_at < 1000 / rate - 1: return []
	var own = once; var due = []; var size = 0
	if input_rows.size() > 0:
		var s = Bits.new([])
		for i in inputs.size():
			s.write_var(input_rows.size())
			for rows in input_rows: write_row(inputs[i].fields, s, rows[i])
		own += message(9, 0, conv.bytes("put_u16", newest & 0xFFFF) + [255, 255] + s.data)
	if credit > 0: own += message(5, 0, conv.bytes("put_u32", 131072 + credit))
	if closing > 0: own += message(3, 0, [1])
	for m in repeat:
		if not m.done and now - m.at >= 200 and size < 400:
			due.append(m); size += m.data.size(); m.at = now
	if own.size() == 0 and due.size() == 0 and (not eliciting or newest_in == 0):
		if now - sent_at < (1000 if newest_in > 0 else 100): return []
		own = message(2, 0, []) # KeepAlive
	once = []; eliciting = false; sent_at = now; out += 1
	var flags = 0; var acks = []
	if newest_in > 0:
		flags = 1; acks = conv.bytes("put_u16", newest_in & 0xFFFF)
		for k in 4:
			var bits = 0
			for i in 8: bits |= (1 << i) if got.has(newest_in - 1 - 8 * k - i) else 0
			if bits != 255:
				flags |= 2 << k; acks.append(bits)
	var b = [flags] + conv.bytes("put_u16", out & 0xFFFF) + acks + conv.bytes("put_u16", 2 + own.size()) + own
	flying[out] = due; flying.erase(out - 512)
	var channels = []
	for m in due:
		if not m.channel in channels: channels.append(m.channel)
	for c in channels:
		var data = []
		for m in due: data += m.data if m.channel == c else []
		b += conv.bytes("put_u16", 3 + data.size()) + [c] + data
	var waiting = []
	for m in repeat:
		if not m.done: waiting.append(m)
	repeat = waiting
	if closing == 1: closed = "closed"
	closing = closing - 1 if closing > 0 else 0
	return [sealed(seed_of, b)]
