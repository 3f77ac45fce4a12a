module github.com/arche-netcode/netcode/examples/web

go 1.26.0

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/arche-netcode/netcode/transport/websocket v0.0.0
	github.com/arche-netcode/netcode/transport/webtransport v0.0.0
	github.com/coder/websocket v1.8.15
	github.com/mlange-42/arche v0.15.3
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/dunglas/httpsfv v1.1.1 // indirect
	github.com/flynn/noise v1.1.0 // indirect
	github.com/mlange-42/ark v0.8.2 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/quic-go/quic-go v0.64.0 // indirect
	github.com/quic-go/webtransport-go v0.13.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)

replace (
	github.com/arche-netcode/netcode => ../..
	github.com/arche-netcode/netcode/transport/websocket => ../../transport/websocket
	github.com/arche-netcode/netcode/transport/webtransport => ../../transport/webtransport
)
