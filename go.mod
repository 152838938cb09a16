module example.com/reattach

go 1.26

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/qmuntal/stateless v1.7.2 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
