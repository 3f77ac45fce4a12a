package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCutAndDiff(t *testing.T) {
	name := recorded(t, 100)
	part := filepath.Join(t.TempDir(), "part.recording")
	var out bytes.Buffer
	require.NoError(t, run([]string{"cut", "-o", part, "-from", "35", "-to", "50", name}, &out, &out))
	require.Equal(t, part+": ticks 31 to 60\n", out.String())
	out.Reset()
	require.NoError(t, run([]string{"info", part}, &out, &out))
	require.Contains(t, out.String(), "30 ticks at 30 Hz, 31 to 60")

	out.Reset()
	require.NoError(t, run([]string{"diff", name, name}, &out, &out))
	require.Equal(t, "no difference\n", out.String())
	out.Reset()
	require.ErrorIs(t, run([]string{"diff", part, name}, &out, &out), errDiffer)
	require.Equal(t, "tick 61: absent in "+part+", there in "+name+"\n", out.String())
}

func TestCutAndDiffRefuse(t *testing.T) {
	name := recorded(t, 40)
	to := filepath.Join(t.TempDir(), "part.recording")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"cut", name}, "cut wants -o FILE"},
		{[]string{"cut", "-o", to}, "cut wants -o FILE"},
		{[]string{"cut", "-o", to, "-from", "x", name}, "-from"},
		{[]string{"cut", "-o", name, name}, "a recording to read: give what is written another name"},
		{[]string{"cut", "-o", to, "-from", "900", name}, "no tick that can be read from tick 900"},
		{[]string{"cut", "-o", to, "-from", "300", "-to", "100", name}, "-from is after -to"},
		{[]string{"cut", "-o", to, "/no/such"}, "no such file"},
		{[]string{"diff", name}, "diff wants two recordings"},
		{[]string{"diff", name, "/no/such"}, "no such file"},
		{[]string{"diff", name, os.Args[0]}, "not a recording"},
	} {
		var out bytes.Buffer
		require.ErrorContains(t, run(c.args, &out, &out), c.want, "%q", c.args)
		require.NoFileExists(t, to)
	}
}

// A failed cut leaves the existing file unchanged. It does not remove a device.
func TestACutThatFailsLeavesWhatWasThere(t *testing.T) {
	name := recorded(t, 40)
	to := filepath.Join(t.TempDir(), "notes.txt")
	require.NoError(t, os.WriteFile(to, []byte("notes"), 0o644))
	var out bytes.Buffer
	require.ErrorContains(t, run([]string{"cut", "-o", to, "-from", "900", name}, &out, &out), "no tick that can be read")
	text, err := os.ReadFile(to)
	require.NoError(t, err)
	require.Equal(t, "notes", string(text))
	device := filepath.Join(t.TempDir(), "device")
	require.NoError(t, os.Symlink(os.DevNull, device))
	require.Error(t, run([]string{"cut", "-o", device, "-from", "900", name}, &out, &out))
	_, err = os.Lstat(device)
	require.NoError(t, err)
	require.NoError(t, run([]string{"cut", "-o", device, name}, &out, &out))
}
