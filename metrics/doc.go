// Package metrics exports to Prometheus: a server's counters, the phases of its ticks, and the connections of its clients.
//
//	inspector := live.New(loop) // its page need not be served
//	prometheus.MustRegister(metrics.New(inspector))
//	http.Handle("/metrics", promhttp.Handler())
//	systems.NewRunner(&world, inspector, 60).Run(ctx)
//
// Each counter of netcode.Stats is exported: Packets.BytesSent as netcode_packets_sent_bytes_total. Further metrics:
//
//	netcode_clients, netcode_entities, netcode_tick   gauges
//	netcode_tick_seconds                              histogram of network ticks, game included
//	netcode_phase_seconds{phase}                      histogram of each phase of them: receive, apply, game, capture, encode, send
//	netcode_round_trip_seconds                        histogram of round trips, of one client a frame in turn
//	netcode_client_sent_bytes_per_second              histogram of what a client is sent, likewise
//	netcode_component_sent_bytes_total{component}     counter of bytes of rows, by component
//	netcode_component_sent_rows_total{component}      counter of rows, by component
//
// The server's writers count for the counters by component, each row that is sent. The label component has one value per component
// of the protocol, at most 64, or 256 with -tags netcode_256.
//
// dashboard.json is a dashboard for Grafana; alerts.yml has alerting rules for Prometheus.
//
// A server is not safe for concurrent use. The loop therefore copies its figures once a second, and a scrape gets the newest
// copy. metrics.go contains the Collector.
package metrics
