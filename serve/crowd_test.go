package serve_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"ocl/internal/limit"
	"ocl/serve/client"
)

// TestHealthWaitsForNobody: however many connections are open and say nothing, before a request or after one, the next
// one is answered.
func TestHealthWaitsForNobody(t *testing.T) {
	address, _ := run(t, options(t))
	for name, ask := range map[string]string{"silent": "", "idle": "/livez", "idle, of one who may ask": "/v1/status"} {
		for i := range limit.ServeConnections + 1 {
			c, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if ask == "" {
				continue
			}
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", ask)
			answer, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatalf("%s: connection %d: %v", name, i, err)
			}
			_ = answer.Body.Close()
		}
		patient := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			answer, err := patient.Get(address + path)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_ = answer.Body.Close()
		}
		c, err := client.New(address, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Learn(t.Context(), picture(1), "class", client.Learn{Raw: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
