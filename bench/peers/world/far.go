package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/arche-netcode/netcode/transport"
)

// farCommand, as first argument, makes this program the clients of both.
const farCommand = "far"

// The far end reads one command a line and answers each with one line.
const (
	farJoin       = "join"       // "join EXACT": a frame of netcode's clients; answers how many lack the world
	farReach      = "reach"      // "reach EXACT T N": when all have N datagrams, a frame; answers how many ticks the last is behind T
	farDigest     = "digest"     // "digest EXACT": of the worlds of netcode's clients, which are the same
	farNecs       = "necs"       // "necs N": when each of necs's clients has N snapshots; answers the bytes of all so far
	farNecsDigest = "necsdigest" // "necsdigest FIRST": of the snapshot that the first client got last; FIRST is the id of the first body
)

// patience is the longest time that the far end waits for sent data.
const patience = 20 * time.Second

// far is the parent's handle on it.
type far struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startFar(clients int, exact, quantised transport.Addr, necs string) (*far, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	f := &far{process: exec.Command(self, farCommand, "-c", fmt.Sprint(clients),
		"-exact", exact.String(), "-quantised", quantised.String(), "-necs", necs)}
	f.process.Stderr = os.Stderr
	if f.in, err = f.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.out = bufio.NewReader(out)
	return f, f.process.Start()
}

func (f *far) ask(command string) (string, error) {
	if _, err := io.WriteString(f.in, command+"\n"); err != nil {
		return "", err
	}
	line, err := f.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("far end: %w", err)
	}
	line = strings.TrimSpace(line)
	if reason, failed := strings.CutPrefix(line, "error "); failed {
		return "", errors.New("far end: " + reason)
	}
	return line, nil
}

func (f *far) stop() error { return errors.Join(f.in.Close(), f.process.Wait()) }

// runFar is the far end's main. It ends with its input.
func runFar(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet(farCommand, flag.ContinueOnError)
	clients := flags.Int("c", 1, "clients of each server")
	exact := flags.String("exact", "", "address of netcode's server of exact rows")
	quantised := flags.String("quantised", "", "address of the one of quantised rows")
	necs := flags.String("necs", "", "address of necs's server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ends := map[string]*players{}
	for name, address := range map[string]string{"true": *exact, "false": *quantised} {
		var err error
		if ends[name], err = newPlayers(*clients, address, name == "true"); err != nil {
			return err
		}
	}
	readers, err := newReaders(*clients, *necs)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		answer, err := obey(strings.Fields(lines.Text()), ends, readers)
		if err != nil {
			answer = "error " + err.Error()
		}
		fmt.Fprintln(out, answer)
	}
	return nil
}

// obey carries out one command.
func obey(words []string, ends map[string]*players, readers *readers) (string, error) {
	if len(words) < 2 {
		return "", fmt.Errorf("command %q", words)
	}
	number := func(i int) (n int64) {
		if i < len(words) {
			fmt.Sscan(words[i], &n)
		}
		return n
	}
	switch p := ends[words[1]]; {
	case words[0] == farNecs:
		return readers.wait(number(1))
	case words[0] == farNecsDigest:
		return readers.digest(uint64(number(1)))
	case p == nil:
		return "", fmt.Errorf("command %q", words)
	case words[0] == farJoin:
		return p.join()
	case words[0] == farReach:
		return p.reach(number(2), number(3))
	default:
		return p.digest()
	}
}
