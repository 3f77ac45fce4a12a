// Command allocator answers POST /match in front of Agones, as netcode fleet does on one machine: it makes a GameServerAllocation, and
// issues a connect token for the pod that it got. It runs in the cluster, by deploy/allocator.yaml.
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/arche-netcode/netcode/fleet"
	"github.com/arche-netcode/netcode/fleet/agones"
	"github.com/arche-netcode/netcode/fleet/supervisor"
	"github.com/arche-netcode/netcode/systems"
	"github.com/arche-netcode/netcode/transport/secure"
)

const (
	// account is the folder of the pod's service account.
	account = "/var/run/secrets/kubernetes.io/serviceaccount/"
	// labelMatch finds the game server of a match.
	labelMatch = "netcode.fleet/match"
	// maxAnswer bounds the answers of Kubernetes.
	maxAnswer = 4 << 20
	tokenLife = time.Minute
)

// allocator makes allocations in one namespace.
type allocator struct {
	url       string // Of the API of Kubernetes.
	namespace string
	fleet     string // metadata.name of the Fleet.
	key       secure.Key
	bearer    func() (string, error) // Of the service account; Kubernetes renews it.
	client    *http.Client
}

// gameServerStatus has the address of a game server. The status of an allocation has the same fields.
type gameServerStatus struct {
	State          string `json:"state"`
	GameServerName string `json:"gameServerName"`
	Address        string `json:"address"`
	Ports          []struct {
		Port int `json:"port"`
	} `json:"ports"`
}

// allocate is the function of supervisor.NewFront.
func (a *allocator) allocate(ctx context.Context, r supervisor.Request) (answer supervisor.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var at gameServerStatus
	if answer.Match = r.Match; r.Match != "" {
		at, err = a.find(ctx, r.Match)
	} else {
		answer.Match = rand.Text() // Letters and digits: a label takes it.
		at, err = a.make(ctx, answer.Match, r.Data)
	}
	if err != nil {
		return answer, err
	}
	if len(at.Ports) == 0 {
		return answer, errors.New("the game server has no port")
	}
	answer.Server = at.GameServerName
	answer.Address = net.JoinHostPort(at.Address, strconv.Itoa(at.Ports[0].Port))
	answer.Expires = time.Now().Add(tokenLife).Truncate(time.Second)
	ticket, err := fleet.Ticket{Match: answer.Match, Data: []byte(r.Ticket)}.Append(nil)
	if err != nil {
		return answer, err
	}
	answer.Token, err = secure.Issue(a.key, secure.Token{User: r.User, Servers: []string{answer.Address}, Expires: answer.Expires, Data: ticket})
	return answer, err
}

// make makes a GameServerAllocation for a new match.
func (a *allocator) make(ctx context.Context, match, data string) (at gameServerStatus, err error) {
	var made struct {
		Status gameServerStatus `json:"status"`
	}
	err = a.call(ctx, http.MethodPost, "/apis/allocation.agones.dev/v1/namespaces/"+a.namespace+"/gameserverallocations", map[string]any{
		"apiVersion": "allocation.agones.dev/v1",
		"kind":       "GameServerAllocation",
		"spec": map[string]any{
			"selectors":  []any{map[string]any{"matchLabels": map[string]string{"agones.dev/fleet": a.fleet}}},
			"scheduling": "Packed",
			"metadata": map[string]any{
				"labels":      map[string]string{labelMatch: match},
				"annotations": map[string]string{agones.AnnotationMatch: match, agones.AnnotationData: data},
			},
		},
	}, &made)
	if err == nil && made.Status.State != "Allocated" { // "UnAllocated", "Contention"
		err = supervisor.Refusal(http.StatusServiceUnavailable, "no server has room: try again")
	}
	return made.Status, err
}

// find finds the game server of a match that runs.
func (a *allocator) find(ctx context.Context, match string) (at gameServerStatus, err error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
			Status gameServerStatus `json:"status"`
		} `json:"items"`
	}
	path := "/apis/agones.dev/v1/namespaces/" + a.namespace + "/gameservers?limit=1&labelSelector=" + url.QueryEscape(labelMatch+"="+match)
	if !isLabel(match) {
		return at, supervisor.Refusal(http.StatusNotFound, "there is no such match")
	}
	if err := a.call(ctx, http.MethodGet, path, nil, &list); err != nil {
		return at, err
	}
	if len(list.Items) == 0 || list.Items[0].Status.State != "Allocated" {
		return at, supervisor.Refusal(http.StatusNotFound, "there is no such match: it is over")
	}
	at = list.Items[0].Status
	at.GameServerName = list.Items[0].Metadata.Name
	return at, nil
}

// isLabel reports whether a text is an ID that make made. A backend may send anything.
func isLabel(match string) bool {
	for _, c := range match {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return match != "" && len(match) < 64
}

// call makes a request of the API of Kubernetes.
func (a *allocator) call(ctx context.Context, method, path string, body, to any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, a.url+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	bearer, err := a.bearer()
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+bearer)
	r.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 500))
		return fmt.Errorf("kubernetes answers %s to %s: %s", answer.Status, method, text)
	}
	return json.NewDecoder(io.LimitReader(answer.Body, maxAnswer)).Decode(to)
}

// inCluster returns the allocator of the pod that it runs in.
func inCluster(name string) (*allocator, error) {
	namespace, err := os.ReadFile(account + "namespace")
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(account + "ca.crt")
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("ca.crt has no certificate")
	}
	key, err := secure.ParseKey(os.Getenv("NETCODE_KEY"))
	if err != nil {
		return nil, err
	}
	return &allocator{
		url: "https://" + net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), cmp.Or(os.Getenv("KUBERNETES_SERVICE_PORT"), "443")), namespace: string(namespace), fleet: name, key: key,
		bearer: func() (string, error) { b, err := os.ReadFile(account + "token"); return string(b), err },
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}},
	}, nil
}

func main() {
	listen := flag.String("listen", ":8080", "`address` for backends")
	name := flag.String("fleet", "game", "`name` of the Fleet")
	flag.Parse()
	bearer := os.Getenv("NETCODE_BEARER")
	if bearer == "" {
		log.Fatal("NETCODE_BEARER is empty: it is the key that backends send")
	}
	a, err := inCluster(*name)
	if err != nil {
		log.Fatal(err)
	}
	front, err := supervisor.NewFront(bearer, 0, a.allocate)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	s := &http.Server{Handler: front, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	ctx, stop := systems.Interrupt(context.Background())
	defer stop()
	context.AfterFunc(ctx, func() { _ = s.Shutdown(context.Background()) })
	if err := s.Serve(front.Limit(l)); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}
