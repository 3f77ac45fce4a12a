# A sample for Godot 4: attach it to a Node2D of an empty scene. It draws each entity with a component "Position" as a dot, smoothly, and steers by the arrow keys.
# In Godot 3, write PoolByteArray for PackedByteArray, OS for Time, File for FileAccess, and update() for queue_redraw().
extends Node2D

const SERVER = "127.0.0.1"; const PORT = 4433
const Client = preload("netcode_plain.gd")
const PAST = 100.0 # milliseconds: how far in the past the world is drawn

var socket = PacketPeerUDP.new()
var client
var shown = {} # by index: [before, at, when it came]

func _ready():
	var nonce = []
	randomize()
	for i in 8: nonce.append(randi() & 255)
	var text = FileAccess.open("res://game.plain", FileAccess.READ).get_as_text() # netcode schema plain game.lock -o game.plain
	client = Client.new(text, nonce, [], now())
	socket.connect_to_host(SERVER, PORT)

func now(): return float(Time.get_ticks_msec())

func _process(_delta):
	while socket.get_available_packet_count() > 0: client.receive(socket.get_packet(), now())
	if client.connected and client.shapes.input.size() > 0:
		client.set_input(now(), [{"X": int(100 * Input.get_axis("ui_left", "ui_right")), "Y": int(100 * Input.get_axis("ui_up", "ui_down"))}])
	for datagram in client.update(now()): socket.put_packet(PackedByteArray(datagram))
	for m in client.messages: print(m)
	client.messages = []
	if client.closed != "": print(client.closed); set_process(false)
	queue_redraw()

func _draw():
	if client == null: return
	for index in client.entities:
		var rows = client.entities[index][2]
		if rows == null or not rows.has("Position"): shown.erase(index); continue
		var at = Vector2(rows.Position.X, rows.Position.Y)
		if not shown.has(index): shown[index] = [at, at, now()]
		if shown[index][1] != at: shown[index] = [shown[index][0].lerp(shown[index][1], part(index)), at, now()]
		draw_circle(shown[index][0].lerp(at, part(index)) + get_viewport_rect().size / 2, 4, Color.WHITE)

func part(index): return clamp((now() - shown[index][2]) / PAST, 0.0, 1.0)
