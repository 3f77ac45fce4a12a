package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arche-netcode/netcode/record"
)

// mayWrite refuses to write over a recording: over one that is read, under whatever name, and over any other.
func mayWrite(to string, inputs ...string) error {
	there, err := os.Stat(to)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range inputs {
		if in, err := os.Stat(name); err == nil && os.SameFile(there, in) {
			return fmt.Errorf("%s is %s, a recording to read: the tables need a file of their own", to, name)
		}
	}
	if !there.Mode().IsRegular() {
		return nil
	}
	_, err = inspect(to)
	if err == nil || !errors.Is(err, record.ErrFormat) {
		return fmt.Errorf("%s is a recording, and would be lost: give the tables another name", to)
	}
	return nil
}

// replace writes a file in one go: who reads it meanwhile, or after a failure, finds what was there before.
func replace(to string, text []byte) error {
	mode := fs.FileMode(0o644)
	if there, err := os.Stat(to); err == nil {
		if !there.Mode().IsRegular() { // a device or a pipe is written to
			return os.WriteFile(to, text, mode)
		}
		mode = there.Mode().Perm()
		if to, err = filepath.EvalSymlinks(to); err != nil {
			return err
		}
	}
	file, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.new")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err == nil {
		err = os.Rename(file.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
