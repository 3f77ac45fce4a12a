# Plays a golden session (testdata/plain.golden) and ends with 1 at the first difference. For Godot 3, which has packages:
#     godot3-server -s golden.gd FILE
extends SceneTree

var NetcodePlain = load("netcode_plain.gd")

func bytes_of(text):
	var b = []
	for i in range(0, text.length(), 2): b.append(("0x" + text.substr(i, 2)).hex_to_int())
	return b

func hex_of(b):
	var text = ""
	for c in b: text += "%02x" % c
	return text

# same compares a value with one of the file: whole numbers beyond 2^53 are texts there, and Godot 3 reads texts of floats as singles.
func same(a, b):
	if a is Dictionary:
		if not b is Dictionary or a.size() != b.size(): return false
		for k in a:
			if not b.has(str(k)) or not same(a[k], b[str(k)]): return false
		return true
	if a is Array:
		if not b is Array or a.size() != b.size(): return false
		for i in a.size():
			if not same(a[i], b[i]): return false
		return true
	if b is String and not a is String: return str(a) == b or (a < 0 and b == "9223372036854775808" and a == -(1 << 62) * 2)
	if (a is float or a is int) and (b is float or b is int): return abs(a - b) <= 1e-6 * max(1.0, abs(b))
	return a == b

func fail(number, what, got):
	print("line ", number, ": ", what, " differs: ", got)
	quit(1)

func _init():
	var file = File.new()
	var args = OS.get_cmdline_args()
	file.open(args[args.size() - 1], File.READ)
	var head = JSON.parse(file.get_line()).result
	var c = NetcodePlain.new(head.plain, bytes_of(head.nonce), bytes_of(head.payload), 0.0)
	var known = {}; var number = 1
	while not file.eof_reached():
		var text = file.get_line()
		if text == "": continue
		number += 1
		var line = JSON.parse(text).result
		for datagram in line.get("in", []): c.receive(bytes_of(datagram), line.ms)
		for m in line.get("send", []): c.send(m.name, m.row)
		if line.has("input"): c.set_input(line.ms, line.input)
		if line.has("close"): c.closing = 3
		var sent = []
		for datagram in c.update(line.ms): sent.append(hex_of(datagram))
		if str(sent) != str(line.get("out", [])): return fail(number, "what is sent", sent)
		var world = line.get("world", {})
		for index in world: known[index] = world[index]
		if c.entities.size() != known.size(): return fail(number, "the number of entities", c.entities.size())
		for index in c.entities:
			var e = c.entities[index]
			var got = null if e[2] == null else {"generation": e[0], "tick": e[1], "rows": e[2]}
			if not same(got, known[str(index)]): return fail(number, "entity %d" % index, got)
		var messages = line.get("messages", [])
		if c.messages.size() != messages.size(): return fail(number, "the number of messages", c.messages.size())
		for i in messages.size():
			if c.messages[i][0] != messages[i].name or not same(c.messages[i][1], messages[i].row): return fail(number, "a message", c.messages[i])
		c.messages = []
		if c.closed != line.get("closed", ""): return fail(number, "the end", c.closed)
	print(number, " lines, ", known.size(), " entities: all as in the file")
	quit(0)
