module github.com/arche-netcode/netcode/bench/peers

go 1.25

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/deneonet/benc v1.1.8
	github.com/leap-fish/necs v0.0.4
	github.com/mlange-42/arche v0.15.3
	github.com/mus-format/mus-go v0.7.2
	github.com/tinylib/msgp v1.6.5
	github.com/yohamta/donburi v1.4.0
	google.golang.org/protobuf v1.36.12
	nhooyr.io/websocket v1.8.10
)

require (
	github.com/hashicorp/go-msgpack v0.5.5 // indirect
	github.com/mlange-42/ark v0.8.2 // indirect
	github.com/mus-format/common-go v0.0.0-20251026152644-9f5ac6728d8a // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	golang.org/x/exp v0.0.0-20231110203233-9a3e6036ecaa // indirect
	golang.org/x/sync v0.6.0 // indirect
)

replace github.com/arche-netcode/netcode => ../..
