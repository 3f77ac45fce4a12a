//go:build linux

package udp

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/internal/alloctest"
	"github.com/arche-netcode/netcode/transport"
)

// dialAt sends a datagram to an address of a server, from a socket that takes answers of that address only, as a NAT and a firewall do.
func dialAt(t *testing.T, server *Conn, at string) (client *net.UDPConn, from transport.Addr) {
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(at), server.LocalAddr().IP.Port()))
	client, err := net.DialUDP("udp", nil, to)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, ask(t, server, client)
}

// ask sends a datagram and receives it at the server.
func ask(t *testing.T, server *Conn, client *net.UDPConn) transport.Addr {
	_, err := client.Write([]byte("ask"))
	require.NoError(t, err)
	buf := make([]byte, 100)
	n, from := receive(t, server, buf)
	require.Equal(t, "ask", string(buf[:n]))
	return from
}

// hears receives an answer at a client.
func hears(t *testing.T, client *net.UDPConn, what string) {
	t.Helper()
	buf := make([]byte, 4096)
	require.NoError(t, client.SetReadDeadline(time.Now().Add(hang)))
	n, err := client.Read(buf)
	require.NoError(t, err, "an answer from the address that it dialled")
	require.Equal(t, what, string(buf[:n]))
}

// A server on all addresses answers from the address that a client has dialled, datagrams one by one and runs.
func TestAnswersComeFromTheAddressThatWasDialled(t *testing.T) {
	for bind, ats := range map[string][]string{
		":0":        {"127.0.0.1", "127.0.0.2", "127.0.0.77", "::1"},
		"0.0.0.0:0": {"127.0.0.1", "127.0.0.2"},
	} {
		for _, single := range []bool{false, true} {
			t.Run(fmt.Sprint(bind, single), func(t *testing.T) {
				server := listen(t, bind, Config{single: single})
				answersAt(t, server, ats)
			})
		}
	}
}

// answersAt checks the answers at several addresses of a server.
func answersAt(t *testing.T, server *Conn, ats []string) {
	for _, at := range ats {
		client, from := dialAt(t, server, at)
		require.NoError(t, server.Send(from, []byte("answer")))
		hears(t, client, "answer")
		_, err := server.SendAll([]transport.Addr{from}, [][]byte{[]byte("onetwothr")}, []int{3})
		require.NoError(t, err)
		for _, part := range []string{"one", "two", "thr"} {
			hears(t, client, part)
		}
	}
	require.Zero(t, server.Stats().SendErrors)
}

// One socket of a client dials one address of the server after the other: the newest counts.
func TestAClientThatDialsAnotherAddress(t *testing.T) {
	server, client := listen(t, ":0", Config{}), listen(t, "127.0.0.1:0", Config{})
	buf := make([]byte, 100)
	for _, at := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.1"} {
		to := transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr(at), server.LocalAddr().IP.Port()))
		require.NoError(t, client.Send(to, []byte("ask")))
		_, from := receive(t, server, buf)
		require.NoError(t, server.Send(from, []byte("answer")))
		_, back := receive(t, client, buf)
		require.Equal(t, to, back)
	}

	// With a session the address stays while datagrams come to it: who forges its address moves nothing.
	require.NoError(t, client.Send(transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), server.LocalAddr().IP.Port())), []byte("ask")))
	_, from := receive(t, server, buf)
	server.Rank(true)
	other := transport.AddrOf(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), server.LocalAddr().IP.Port()))
	require.NoError(t, client.Send(other, []byte("forged")))
	receive(t, server, buf)
	require.Equal(t, "127.0.0.1", server.queue.LocalOf(from).String())
}

// An address that the machine has no longer is no reason not to answer.
func TestAnAddressThatIsGone(t *testing.T) {
	server := listen(t, ":0", Config{})
	client, from := dialAt(t, server, "127.0.0.1")
	server.queue.Put(from, netip.MustParseAddr("192.0.2.7"), []byte("gone"), time.Second)
	require.NoError(t, server.Send(from, []byte("answer")))
	hears(t, client, "answer")
	_, err := server.SendAll([]transport.Addr{from}, [][]byte{[]byte("onetwo")}, []int{3})
	require.NoError(t, err)
	hears(t, client, "one")
	hears(t, client, "two")
}

func TestAnswersFromADialledAddressAllocateNothing(t *testing.T) {
	server := listen(t, ":0", Config{})
	_, from := dialAt(t, server, "127.0.0.2")
	to, runs, sizes := []transport.Addr{from}, [][]byte{[]byte("onetwo")}, []int{3}
	alloctest.Zero(t, 100, func() {
		_ = server.Send(from, runs[0])
		_, _ = server.SendAll(to, runs, sizes)
	})
}

// In a network namespace of its own the machine has two more addresses of each family.
func TestAnswersInANamespace(t *testing.T) {
	const inside = "NETCODE_UDP_NAMESPACE"
	if os.Getenv(inside) != "" {
		answersAt(t, listen(t, ":0", Config{}), []string{"::1", "2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2"})
		return
	}
	if os.Getuid() != 0 || exec.Command("unshare", "-n", "true").Run() != nil {
		t.Skip("only root makes a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip here: apt-get install iproute2")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command("unshare", "-n", "sh", "-ec", `
ip link set lo up
for a in 192.0.2.1/32 192.0.2.2/32; do ip address add $a dev lo; done
for a in 2001:db8::1/128 2001:db8::2/128; do ip -6 address add $a dev lo; done
exec "$0" -test.run '^TestAnswersInANamespace$' -test.v`, self)
	command.Env = append(os.Environ(), inside+"=1")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS")
}
