module github.com/arche-netcode/netcode/systems/archemodel

go 1.25

require (
	github.com/arche-netcode/netcode v0.0.0
	github.com/mlange-42/arche v0.15.3
	github.com/mlange-42/arche-model v0.10.0
	github.com/stretchr/testify v1.11.1
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/mlange-42/ark v0.8.2 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/exp v0.0.0-20230418202329-0354be287a23 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/arche-netcode/netcode => ../..
