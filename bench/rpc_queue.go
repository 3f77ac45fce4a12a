package main

import (
	"encoding/binary"
	"time"

	"github.com/arche-netcode/netcode/tick"
)

// rpcQueues are messages without any promise: a byte queue for each stage and a table of handlers for incoming
// ones, a byte queue for each client for outgoing ones. It has no types, no checks, no limits, no acks, and its packets
// no header.
type rpcQueues struct {
	packets  [][]byte // what the clients sent, framed; their memory stays
	last     int      // packets in use
	messages int      // in the last one

	stages   [tick.NumStages][]byte
	handlers [1 << 8]func(stage tick.Stage, payload []byte)
	in       rpcTally

	clients [][]byte // what waits for each
	out     []byte
}

// rpcPacket is the number of messages in a packet of 1200 bytes with netcode's headers.
const rpcPacket = 59

const rpcType = 16

func newRPCQueues(clients int) rpcQueues {
	return rpcQueues{clients: make([][]byte, clients), last: -1}
}

// frameRPC puts a header before a message.
func frameRPC(dst []byte, stage tick.Stage, m *rpcOrder) []byte {
	dst = append(dst, rpcType, byte(stage), rpcBody, 0)
	dst = binary.LittleEndian.AppendUint32(dst, m.Client)
	dst = binary.LittleEndian.AppendUint32(dst, m.Check)
	return binary.LittleEndian.AppendUint64(dst, m.Serial)
}

// came adds a message to what the next frame takes in.
func (q *rpcQueues) came(stage tick.Stage, m *rpcOrder) {
	if q.last < 0 || q.messages == rpcPacket {
		q.last++
		q.messages = 0
		if q.last == len(q.packets) {
			q.packets = append(q.packets, nil)
		}
		q.packets[q.last] = q.packets[q.last][:0]
	}
	q.packets[q.last] = frameRPC(q.packets[q.last], stage, m)
	q.messages++
}

// clear forgets what came.
func (q *rpcQueues) clear() { q.last, q.messages = -1, 0 }

// frame takes in what came and sends orders, one to each client in turn.
func (q *rpcQueues) frame(orders []rpcOrder) (in, out time.Duration) {
	if q.handlers[rpcType] == nil {
		q.handlers[rpcType] = q.handle
	}
	began := time.Now()
	q.takeIn()
	middle := time.Now()
	q.sendOut(orders)
	return middle.Sub(began), time.Since(middle)
}

// handle is the handler of the only type.
func (q *rpcQueues) handle(stage tick.Stage, payload []byte) {
	m := rpcOrder{
		Client: binary.LittleEndian.Uint32(payload), Check: binary.LittleEndian.Uint32(payload[4:]),
		Serial: binary.LittleEndian.Uint64(payload[8:]),
	}
	q.in.countOrder(stage, &m)
}

// takeIn moves each message to the queue of its stage, then empties the queues.
func (q *rpcQueues) takeIn() {
	for _, packet := range q.packets[:q.last+1] {
		for len(packet) > 0 {
			size := rpcHeader + int(binary.LittleEndian.Uint16(packet[2:]))
			stage := packet[1]
			q.stages[stage] = append(q.stages[stage], packet[:size]...)
			packet = packet[size:]
		}
	}
	for stage := range q.stages {
		for rest := q.stages[stage]; len(rest) > 0; {
			size := rpcHeader + int(binary.LittleEndian.Uint16(rest[2:]))
			q.handlers[rest[0]](tick.Stage(stage), rest[rpcHeader:size])
			rest = rest[size:]
		}
		q.stages[stage] = q.stages[stage][:0]
	}
}

// sendOut adds each message to the queue of its client, then copies the queues into packets.
func (q *rpcQueues) sendOut(orders []rpcOrder) {
	stages := rpcStages()
	for part, from := 0, 0; part < len(stages); part++ {
		for ; from < len(orders)*(part+1)/len(stages); from++ {
			queue := &q.clients[from%len(q.clients)]
			*queue = frameRPC(*queue, stages[part], &orders[from])
		}
	}
	q.out = q.out[:0]
	for i, queue := range q.clients {
		for len(queue) > 0 {
			n := min(len(queue), rpcPacket*(rpcHeader+rpcBody))
			q.out = append(q.out, queue[:n]...)
			queue = queue[n:]
		}
		q.clients[i] = q.clients[i][:0]
	}
}
