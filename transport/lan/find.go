package lan

import (
	"context"
	"net"
	"net/netip"
	"time"
)

// MaxGames is the most games that a Find tells of.
const MaxGames = 64

// askEvery is the time between two questions.
const askEvery = time.Second

// Find asks for games once a second until ctx is done. It calls found for each game that is new or has changed, in the
// goroutine of the call. Games are told apart by the address of the sender and by Join.
func Find(ctx context.Context, port uint16, found func(Game)) error {
	socket, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return err
	}
	defer socket.Close()
	var ask [questionSize]byte
	copy(ask[:], question)
	targets := broadcasts()
	type key struct {
		from netip.Addr
		join string
	}
	games := map[key]Game{}
	var buffer [questionSize + 1]byte
	for next := time.Now(); ctx.Err() == nil; {
		if now := time.Now(); !now.Before(next) {
			next = now.Add(askEvery)
			for _, to := range targets {
				for i := range uint16(Ports) {
					_, _ = socket.WriteToUDPAddrPort(ask[:], netip.AddrPortFrom(to, port+i)) // A network that is down has no games.
				}
			}
		}
		_ = socket.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // An open socket takes it.
		n, from, err := socket.ReadFromUDPAddrPort(buffer[:])
		if err != nil || !isNear(from.Addr()) {
			continue
		}
		g, err := Parse(buffer[:n])
		at := key{from.Addr(), g.Join}
		was, known := games[at]
		if err != nil || known && was == g || !known && len(games) >= MaxGames {
			continue
		}
		games[at] = g
		found(g)
	}
	return nil
}

// broadcasts are the addresses that reach every machine of each local network, and this machine.
func broadcasts() []netip.Addr {
	all := []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.AddrFrom4([4]byte{255, 255, 255, 255})}
	addresses, _ := net.InterfaceAddrs() // Without any, this machine is asked.
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil || !n.IP.IsPrivate() || len(n.Mask) != 4 {
			continue
		}
		var end [4]byte
		for i, b := range n.IP.To4() {
			end[i] = b | ^n.Mask[i]
		}
		all = append(all, netip.AddrFrom4(end))
	}
	return all
}
