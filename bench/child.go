package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// childCommand, as first argument, makes this program the far end of a measurement: a process of its own, so that what
// the clients do is never counted as the server's.
const childCommand = "child"

// The child reads one command a line and answers each with one line.
const (
	commandDrained = "drained" // bytes the floor's sockets have read
	commandJoin    = "join"    // run the netcode clients until each has applied the world; answers how many have not
	commandReach   = "reach"   // "reach T N": when all have read N datagrams, run a frame; answers ticks behind T, datagrams
	commandCalm    = "calm"    // from now on the network loses nothing, and delays all of a client alike
	commandDigest  = "digest"  // digests of the netcode clients' worlds
	commandQuit    = "quit"
)

// child is the parent's handle on the far end.
type child struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	drains  []transport.Addr
}

// startChild starts the far end with clients floor sockets and, with a server address, as many netcode clients, on a network.
func startChild(clients int, server transport.Addr, exact, secured bool, n realNetwork) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{childCommand, "-c", fmt.Sprint(clients)}
	if server.IsValid() {
		args = append(args, "-server", server.String(), fmt.Sprintf("-exact=%v", exact), fmt.Sprintf("-secure=%v", secured), fmt.Sprintf("-loss=%v", n.loss), fmt.Sprintf("-jitter=%v", n.jitter), fmt.Sprintf("-classes=%v", n.classes), fmt.Sprintf("-seed=%v", n.seed))
	}
	c := &child{process: exec.Command(self, args...)}
	c.process.Stderr = os.Stderr
	if c.in, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	ports, err := c.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("child did not start: %w", err)
	}
	for _, text := range strings.Fields(ports) {
		address, err := transport.ParseAddr(text)
		if err != nil {
			return nil, err
		}
		c.drains = append(c.drains, address)
	}
	if len(c.drains) != clients {
		return nil, fmt.Errorf("child opened %d of %d sockets", len(c.drains), clients)
	}
	return c, nil
}

// ask sends one command and returns the fields of the answer.
func (c *child) ask(command string) ([]string, error) {
	if err := c.tell(command); err != nil {
		return nil, err
	}
	return c.answer()
}

// tell sends one command without waiting for its answer.
func (c *child) tell(command string) error {
	_, err := io.WriteString(c.in, command+"\n")
	return err
}

// answer waits for the answer of the oldest command not yet answered.
func (c *child) answer() ([]string, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	fields := strings.Fields(line)
	if len(fields) > 0 && fields[0] == "error" {
		return nil, errors.New("child: " + strings.Join(fields[1:], " "))
	}
	return fields, nil
}

// drained returns the bytes that the far end's floor sockets have read, once that is all that was sent, or the rest was dropped.
func (c *child) drained(sent int64) (total int64, err error) {
	for deadline := time.Now().Add(reachLimit); err == nil && total < sent && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		fields, fault := c.ask(commandDrained)
		if fault != nil {
			return 0, fault
		}
		_, err = fmt.Sscan(strings.Join(fields, " "), &total)
	}
	return total, err
}

// stop ends the far end.
func (c *child) stop() error {
	if err := c.tell(commandQuit); err != nil {
		return err
	}
	return c.process.Wait()
}

// runChild is the far end's main.
func runChild(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet(childCommand, flag.ContinueOnError)
	count := flags.Int("c", 1, "sockets and clients")
	server := flags.String("server", "", "address of the netcode server, empty for none")
	exact := flags.Bool("exact", false, "exact rows")
	secured := flags.Bool("secure", false, "transport/secure around the sockets")
	var network realNetwork
	network.flags(flags, 0, 0, 0)
	if err := flags.Parse(args); err != nil {
		return err
	}
	var bytes atomic.Int64
	addresses := make([]string, *count)
	for i := range addresses {
		address, err := drain(&bytes)
		if err != nil {
			return err
		}
		addresses[i] = address
	}
	var peers *farClients
	if *server != "" {
		var err error
		if peers, err = newFarClients(*count, *server, *exact, *secured, network); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, strings.Join(addresses, " "))
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		command, argument, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case commandDrained:
			fmt.Fprintln(out, bytes.Load())
		case commandJoin, commandReach, commandCalm, commandDigest:
			if peers == nil {
				return fmt.Errorf("%s: no netcode clients here", command)
			}
			answer, err := peers.do(command, argument)
			if err != nil {
				answer = "error " + err.Error()
			}
			fmt.Fprintln(out, answer)
		default:
			return nil
		}
	}
	return lines.Err()
}

// drain opens one socket and reads whatever comes for as long as the process lives.
func drain(bytes *atomic.Int64) (string, error) {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return "", err
	}
	if err := socket.SetReadBuffer(4 << 20); err != nil {
		return "", err
	}
	if err := coalesce(socket); err != nil {
		return "", fmt.Errorf("coalesced reads: %w", err)
	}
	go func() {
		buffer, control := make([]byte, 65536), make([]byte, 64)
		for {
			n, _, _, _, err := socket.ReadMsgUDPAddrPort(buffer, control)
			if err != nil {
				return
			}
			bytes.Add(int64(n))
		}
	}()
	return socket.LocalAddr().String(), nil
}
