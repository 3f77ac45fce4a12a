// Package metrics exports a server's counters, the phases of its ticks and the lines of its clients to Prometheus.
//
//	inspector := live.New(loop) // its page need not be served
//	prometheus.MustRegister(metrics.New(inspector))
//	http.Handle("/metrics", promhttp.Handler())
//	systems.NewRunner(&world, inspector, 60).Run(ctx)
//
// Each counter of netcode.Stats is there: Packets.BytesSent as netcode_packets_sent_bytes_total. Beside them:
//
//	netcode_clients, netcode_entities, netcode_tick   gauges
//	netcode_tick_seconds                              histogram of network ticks, game included
//	netcode_phase_seconds{phase}                      histogram of each phase of them: receive, apply, game, capture, encode, send
//	netcode_round_trip_seconds                        histogram of round trips, of one client a frame in turn
//	netcode_client_sent_bytes_per_second              histogram of what a client is sent, likewise
//	netcode_component_sent_bytes_total{component}     counter of bytes of rows, by component
//	netcode_component_sent_rows_total{component}      counter of rows, by component
//	netcode_sent_read_bytes_total                     counter of bytes of the datagrams that these two are of
//
// Datagrams are read for the counters by component within half a percent of the time between two ticks: where that is too little for all, each
// in its turn. Multiply by the rate of netcode_packets_sent_bytes_total over that of netcode_sent_read_bytes_total. The label has
// as many values as the protocol has components, at most 64, or 256 with -tags netcode_256.
//
// dashboard.json is a dashboard for Grafana, and alerts.yml are rules for Prometheus.
//
// A server is not safe for concurrent use: the loop copies its figures once a second, and a scrape gets the newest copy.
package metrics
