package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/arche-netcode/netcode/record"
)

// mayWrite refuses to overwrite a recording: one of the inputs, under any name, or any other file that starts like a
// recording of this version.
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
			return fmt.Errorf("%s is %s, a recording to read: give what is written another name", to, name)
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
		return fmt.Errorf("%s is a recording, and would be lost: give what is written another name", to)
	}
	return nil
}

// usualMode is the mode of a new file, before the umask.
const usualMode = fs.FileMode(0o644)

// replace writes a file atomically: a concurrent reader, or one after a failure, sees the old contents. If that is
// impossible (a device, a dangling link, a folder without write permission) it writes to the file itself.
func replace(to string, text []byte) error {
	return replaceBy(to, func(out io.Writer) error {
		_, err := out.Write(text)
		return err
	})
}

// replaceBy is replace with a function that writes. If the function fails, nothing changes.
func replaceBy(to string, write func(out io.Writer) error) error {
	there, err := os.Stat(to)
	if link, lerr := os.Lstat(to); err != nil && lerr == nil && link.Mode()&fs.ModeSymlink != 0 || err == nil && !there.Mode().IsRegular() {
		return writeTo(to, write)
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
			return writeTo(to, write)
		}
		return err
	}
	if there != nil {
		err = file.Chmod(there.Mode().Perm())
	}
	if err = errors.Join(err, write(file), file.Close()); err == nil {
		err = os.Rename(beside, to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return nil
}

// writeTo writes to an existing file in place.
func writeTo(name string, write func(out io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, usualMode)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
