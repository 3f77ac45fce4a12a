package main

//go:generate go run github.com/tinylib/msgp@v1.6.5 -file types.go -o types_msgp.go -tests=false -io=false
//go:generate protoc --go_out=. --go_opt=paths=source_relative peers.proto

//msgp:tuple Row
//msgp:tuple Vector
//msgp:tuple Input
//msgp:tuple Joysticks

// Row is the row of T6.
type Row struct {
	Pos   [3]float32
	Rot   [4]float32
	Vel   [3]float32
	ID    uint32
	Flags uint8
}

// Vector is a stick.
type Vector struct{ X, Y float32 }

// Input is the input of seed C.
type Input struct {
	Move, Smash                         Vector
	Attack, Special, Shield, Grab, Jump bool
}

// Joysticks is the TwinJoysticks of seed C.
type Joysticks struct{ Left, Right Vector }
