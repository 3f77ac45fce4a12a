package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/arche-netcode/netcode/internal/usage"
	"github.com/arche-netcode/netcode/transport/secure"
)

// runKey writes a new key to a file readable only by its owner, and prints the public key. It does not change an
// existing file.
func runKey(args []string, out io.Writer) error {
	if len(args) != 1 {
		return usage.Errorf("key wants one file, as in netcode key server.key")
	}
	key, err := secure.ReadKey(args[0])
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(args[0])
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, key.Public())
	return nil
}

// makeKey writes a new key. It never overwrites a file.
func makeKey(name string) (key secure.Key, err error) {
	if key, err = secure.NewKey(); err != nil {
		return key, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return key, err
	}
	_, err = fmt.Fprintln(file, key.Text())
	return key, errors.Join(err, file.Close())
}
