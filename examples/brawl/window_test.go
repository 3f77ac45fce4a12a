package main

import (
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arche-netcode/netcode/examples/web/browsers"
)

// A window, without a screen: its player is the host, a bot plays it, and the picture of its last frame has both teams and the ball.
func TestAWindow(t *testing.T) {
	display, ok := browsers.Screen(t)
	if !ok {
		t.Skip("no Xvfb here: apt-get install xvfb")
	}
	program, file := filepath.Join(t.TempDir(), "window"), filepath.Join(t.TempDir(), "window.png")
	if text, err := exec.Command("go", "build", "-o", program, "./window").CombinedOutput(); err != nil {
		t.Skipf("the window does not build, for lack of headers: see ../ebiten/README.md\n%s", text)
	}
	run := exec.Command(program, "-listen", "127.0.0.1:0", "-name", "Ann", "-auto", "-seconds", "2", "-shot", file)
	run.Env = append(os.Environ(), "DISPLAY="+display, "LIBGL_ALWAYS_SOFTWARE=1", "HOME="+t.TempDir())
	text, err := run.CombinedOutput()
	require.NoError(t, err, string(text))
	require.Contains(t, string(text), "others join by http://127.0.0.1:")
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.Decode(f)
	require.NoError(t, err)
	count := map[string]int{}
	for y := 44; y < picture.Bounds().Dy(); y++ {
		for x := range picture.Bounds().Dx() {
			r, g, b, _ := picture.At(x, y).RGBA()
			switch [3]uint32{r >> 8, g >> 8, b >> 8} {
			case [3]uint32{0xff, 0x5a, 0x4d}:
				count["red"]++
			case [3]uint32{0x3f, 0xa7, 0xff}:
				count["blue"]++
			case [3]uint32{0xf4, 0xf6, 0xf8}, [3]uint32{0xff, 0xff, 0xff}:
				count["white"]++
			}
		}
	}
	for _, colour := range []string{"red", "blue", "white"} { // A disc of an avatar has some 450 pixels, the ball 1000.
		require.Greater(t, count[colour], 200, "%s: %v", colour, count)
	}
}
