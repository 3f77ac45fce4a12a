// Package browsers drives headless browsers for tests of games in pages: Chromium by the DevTools protocol, Firefox by WebDriver BiDi.
//
//	browser.go    Browser and Tab: pages, expressions, keys and pictures
//	chromium.go   Chromium
//	firefox.go    Firefox
//	screen.go     Screen: an X server for what needs one
package browsers
