// Command bench measures netcode against what the memory and the kernel can do at best, and prints one JSON line per result.
//
//	go run ./bench -list
//	go run ./bench -run tick -json -e 1000 -c 16 -frac 0.1
//	go run ./bench -run bytes -json -trace FILE
//
// Every scenario measures both sides in one interleaved run and carries the ratio; README.md holds recorded figures.
package main
