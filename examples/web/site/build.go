package site

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build builds the client in a folder for a page, and compresses it. It says so, since the first time takes a minute.
func Build(client string, say io.Writer) ([]byte, error) {
	fmt.Fprintf(say, "building the client of %s: the first time takes a minute ...\n", client)
	dir, err := os.MkdirTemp("", "netcode-web")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "client.wasm")
	command := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, ".")
	command.Dir = client
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	if text, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the client does not build; run this command in the folder of its example: %w\n%s", err, text)
	}
	plain, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(plain)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

// goRoot is the folder of the Go toolchain.
func goRoot() string {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
