package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arche-netcode/netcode/record"
)

// mayWrite refuses to write over a recording: over one that is read, under whatever name, and over any other that begins as one of this version does.
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
			return fmt.Errorf("%s is %s, a recording to read: give -o another file", to, name)
		}
	}
	if !there.Mode().IsRegular() {
		return nil
	}
	_, err = inspect(to)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("whether it is a recording cannot be seen: %w", err)
	case err == nil || !errors.Is(err, record.ErrFormat):
		return fmt.Errorf("%s is a recording, and would be lost: give the tables another name", to)
	}
	return nil
}

// usualMode is that of a new file, from which the umask takes.
const usualMode = fs.FileMode(0o644)

// replace writes a file in one go: who reads it meanwhile, or after a failure, finds what was there before. Where that cannot be done, with a
// device, a link to nothing, or in a folder that takes no new file, it is written to.
func replace(to string, text []byte) error {
	there, err := os.Stat(to)
	if link, lerr := os.Lstat(to); err != nil && lerr == nil && link.Mode()&fs.ModeSymlink != 0 || err == nil && !there.Mode().IsRegular() {
		return os.WriteFile(to, text, usualMode)
	}
	if err == nil {
		if to, err = filepath.EvalSymlinks(to); err != nil {
			return err
		}
	}
	beside := fmt.Sprintf("%s.%d.new", to, os.Getpid())
	file, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, usualMode)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return os.WriteFile(to, text, usualMode)
		}
		return err
	}
	if there != nil {
		err = file.Chmod(there.Mode().Perm())
	}
	_, werr := file.Write(text)
	if err = errors.Join(err, werr, file.Close()); err == nil {
		err = os.Rename(beside, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}
