package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/arche-netcode/netcode/delta"
	"github.com/arche-netcode/netcode/record"
)

// recording is the file that a server's ticks go to.
type recording struct {
	file *os.File
	stop func() error
}

// record begins a recording of the server's world.
func (s *crowdServer) record(name string) error {
	if isTables(name) {
		return fmt.Errorf("-record %s: it holds tables, which would be lost: give the recording another name", name)
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	stop, err := record.Start(s.net, file) // the one line
	if err != nil {
		return errors.Join(err, file.Close())
	}
	s.recording = &recording{file, stop}
	return nil
}

// isTables reports whether a file is one that netcode train has written.
func isTables(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	begins := make([]byte, len("wire.tables "))
	_, err = io.ReadFull(file, begins)
	return err == nil && string(begins) == "wire.tables "
}

// tablesOf is a name for the tables of a recording, which is not the recording's.
func tablesOf(recording string) string {
	name := strings.TrimSuffix(recording, filepath.Ext(recording)) + ".tables"
	if name == recording {
		name += ".tables"
	}
	return name
}

// close writes the rest. A recording that is not whole is an error of the run.
func (r *recording) close() error {
	if r == nil {
		return nil
	}
	return errors.Join(r.stop(), r.file.Close())
}

// loadTables reads tables that netcode train has written; no file is those that ship.
func loadTables(name string) (*delta.Tables, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	tables, err := delta.ParseTables(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return tables, nil
}
