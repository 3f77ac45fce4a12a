package wire_test

import (
	"fmt"

	"github.com/arche-netcode/netcode/wire"
)

// shot is a message. Its one method reads, writes and measures it.
type shot struct {
	Weapon  weapon
	Targets []uint32
	Charged bool
	Charge  uint16 // only where Charged
}

type weapon uint8

const (
	bow weapon = iota
	sling
)

func (m *shot) Serialize(s *wire.Serializer) {
	wire.SerializeEnumWithin(s, &m.Weapon, bow, sling)
	wire.SerializePackedSlice(s, &m.Targets, 8)
	s.Bool(&m.Charged)
	if m.Charged {
		s.PackedUint16(&m.Charge)
	}
}

func ExampleSerializer() {
	var s wire.Serializer // one for all messages
	size, _ := s.Measure(&shot{Weapon: sling, Targets: []uint32{7, 300}, Charged: true, Charge: 90})
	packet := make([]byte, size)
	n, err := s.Write(packet, &shot{Weapon: sling, Targets: []uint32{7, 300}, Charged: true, Charge: 90})
	fmt.Println(size, n, err)

	var got shot
	fmt.Println(s.Read(packet, &got), got)
	fmt.Println(s.Read(packet[:4], &shot{}))
	fmt.Println(s.Read([]byte{9, 0, 0}, &shot{}))
	// Output:
	// 7 7 <nil>
	// <nil> {1 [7 300] true 90}
	// wire: truncated
	// wire: malformed
}
