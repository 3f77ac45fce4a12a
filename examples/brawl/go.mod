module github.com/arche-netcode/netcode/examples/brawl

go 1.26.0

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/arche-netcode/netcode/examples/web v0.0.0
	github.com/ebitengine/oto/v3 v3.4.0
	github.com/hajimehoshi/ebiten/v2 v2.9.9
	github.com/mlange-42/arche v0.15.3
	github.com/stretchr/testify v1.12.1
)

require (
	github.com/arche-netcode/netcode/transport/websocket v0.0.0 // indirect
	github.com/arche-netcode/netcode/transport/webtransport v0.0.0 // indirect
	github.com/coder/websocket v1.8.15 // indirect
	github.com/dunglas/httpsfv v1.1.1 // indirect
	github.com/ebitengine/gomobile v0.0.0-20250923094054-ea854a63cce1 // indirect
	github.com/ebitengine/hideconsole v1.0.0 // indirect
	github.com/ebitengine/purego v0.9.0 // indirect
	github.com/jezek/xgb v1.1.1 // indirect
	github.com/mlange-42/ark v0.8.2 // indirect
	github.com/quic-go/qpack v0.6.0 // indirect
	github.com/quic-go/quic-go v0.64.0 // indirect
	github.com/quic-go/webtransport-go v0.13.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/crypto v0.54.0 // indirect
	golang.org/x/net v0.56.0 // indirect
	golang.org/x/sync v0.22.0 // indirect
	golang.org/x/sys v0.47.0 // indirect
	golang.org/x/text v0.40.0 // indirect
)

replace (
	github.com/arche-netcode/netcode => ../..
	github.com/arche-netcode/netcode/examples/web => ../web
	github.com/arche-netcode/netcode/transport/websocket => ../../transport/websocket
	github.com/arche-netcode/netcode/transport/webtransport => ../../transport/webtransport
)
