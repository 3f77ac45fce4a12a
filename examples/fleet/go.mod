module github.com/arche-netcode/netcode/examples/fleet

go 1.26.0

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/heroiclabs/nakama-common v1.42.0
	github.com/mlange-42/arche v0.15.3
	github.com/stretchr/testify v1.12.1
	go.yaml.in/yaml/v3 v3.0.5
)

require (
	github.com/flynn/noise v1.1.0 // indirect
	github.com/mlange-42/ark v0.8.2 // indirect
	golang.org/x/crypto v0.45.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	google.golang.org/protobuf v1.36.8 // indirect
)

replace github.com/arche-netcode/netcode => ../..
