package peer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// legalDetail reports whether a remote text may be shown to people as it is:
// UTF-8 in one printable line. Anything else could forge lines in a log.
func legalDetail(text []byte) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if !legalRune(r, n) {
			return false
		}
		text = text[n:]
	}
	return true
}

func legalRune(r rune, size int) bool {
	return (r != utf8.RuneError || size > 1) && unicode.IsPrint(r)
}

// cleanDetail returns text as it may travel: every rune that is not legal as a
// question mark, cut to at most limit bytes without cutting a rune.
func cleanDetail(text string, limit int) string {
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		if !legalRune(r, size) {
			text = replaceIllegal(text)
			break
		}
	}
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func replaceIllegal(text string) string {
	return strings.Map(func(r rune) rune {
		if legalRune(r, 2) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(text, "?"))
}
