package netcode_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// "Predict" means client-side prediction. Compression extrapolates: its packages and pages use no other word for it.
func TestPredictIsNoWordOfCompression(t *testing.T) {
	files := []string{"PROTOCOL.md", "protocol.go", "docs/recording.md", "docs/guide/recording.md", "docs/guide/components.md"}
	for _, pattern := range []string{"wire/*.go", "record/*.go", "snapshot/*.go", "docs/adr/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		about := strings.Contains(file, "prediction") || strings.Contains(string(text), "netcode/predict\"") // A page, a section or a test whose subject it is.
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "##") {
				about = strings.Contains(line, "client-side prediction")
			}
			if about {
				continue
			}
			if strings.Contains(strings.ToLower(line), "predict") && !strings.Contains(line, "client-side prediction") {
				t.Errorf("%s:%d: %q is for client-side prediction; of rows the word is extrapolate: %s", file, i+1, "predict", line)
			}
		}
	}
}
