package main

import (
	"fmt"
	"os"
	"time"

	"github.com/arche-netcode/netcode/transport"
	"github.com/arche-netcode/netcode/transport/secure"
)

// serverSocket wraps the server's connection, with -key.
func (o *options) serverSocket(inner transport.Conn) (transport.Conn, error) {
	if o.key == (secure.Key{}) {
		return inner, nil
	}
	config := secure.Config{Key: o.key, Admit: secure.Tokens()}
	if o.keyLog != "" {
		log, err := os.OpenFile(o.keyLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		config.KeyLog = log // Open until the program ends.
	}
	return secure.Listen(inner, config)
}

// clientSocket wraps a client's connection, with -key. A token for the server stands for the one that a backend makes.
func (o *options) clientSocket(inner transport.Conn, number int, server transport.Addr) (transport.Conn, error) {
	if o.key == (secure.Key{}) {
		return inner, nil
	}
	token, err := secure.Issue(o.key, secure.Token{
		User: fmt.Sprint("client ", number), Servers: []string{server.String()}, Expires: time.Now().Add(time.Minute),
	})
	if err != nil {
		return nil, err
	}
	return secure.Dial(inner, secure.ClientConfig{Token: token})
}
