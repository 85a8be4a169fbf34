package test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slackrelay/configs"
	"slackrelay/lua/redistest"
	"slackrelay/pipeline"
	"slackrelay/test/bare"
)

// BenchmarkAlertmanagerStorm posts webhooks of 20 alerts of a full category. x_plain is the rate relative to a bare handler, which
// decodes the same JSON and answers a reply of the same size. The senders write prepared bytes, so that the server is measured.
func BenchmarkAlertmanagerStorm(b *testing.B) {
	cfg := configs.Default()
	cfg.RedisURL, cfg.Channels[0].Window = configs.Secret(redistest.Start(b).URL), time.Hour
	relayURL, _ := benchRelay(b, cfg, 1)
	relayURL = strings.Replace(relayURL, "/generic", "/alertmanager", 1)
	body := bare.JSON(bare.ManyAlerts(20))
	postOnce(b, relayURL, body)
	reply := postOnce(b, relayURL, body)
	var receipt pipeline.Receipt // the category is full
	if err := json.Unmarshal(reply, &receipt); err != nil || receipt.Dropped != 20 {
		b.Fatal(receipt, err)
	}
	plain := httptest.NewServer(bare.Handler[bare.Alerts](reply))
	b.Cleanup(plain.Close)
	ballast := make([]byte, 64<<20)
	defer runtime.KeepAlive(ballast)
	var ours, theirs []float64
	for turn := range benchTurns + 1 {
		relayed, decoded := hammer(b, relayURL, body), hammer(b, plain.URL, body)
		if turn > 0 {
			ours, theirs = append(ours, relayed), append(theirs, decoded)
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ours[len(ours)/2], "req/s")
	b.ReportMetric(ours[len(ours)/2]/theirs[len(theirs)/2], "x_plain")
}

// hammer posts the same bytes from 16 connections for one turn, and returns the requests per second.
func hammer(b *testing.B, address string, body []byte) float64 {
	b.Helper()
	target, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	path := cmp.Or(target.Path, "/")
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path,
		len(body), body)
	var posted atomic.Int64
	var senders sync.WaitGroup
	begin := time.Now()
	for range 16 {
		senders.Go(func() {
			conn, err := net.Dial("tcp", target.Host)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for time.Since(begin) < benchTurn {
				if _, err := conn.Write(request); err != nil {
					b.Error(err)
					return
				}
				response, err := http.ReadResponse(answers, nil)
				if err != nil || response.StatusCode != http.StatusAccepted {
					b.Error(err)
					return
				}
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
				posted.Add(1)
			}
		})
	}
	senders.Wait()
	return float64(posted.Load()) / time.Since(begin).Seconds()
}
