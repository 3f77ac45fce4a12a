module github.com/arche-netcode/netcode/transport/websocket

go 1.25

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/coder/websocket v1.8.15
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/arche-netcode/netcode => ../..
