module github.com/arche-netcode/netcode

go 1.25

require (
	github.com/flynn/noise v1.1.0
	github.com/mlange-42/arche v0.15.3
	github.com/mlange-42/ark v0.8.2
	github.com/stretchr/testify v1.11.1
	golang.org/x/crypto v0.45.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/davecgh/go-spew v1.1.1 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
