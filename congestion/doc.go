// Package congestion finds the rate of one direction of a connection.
package congestion
