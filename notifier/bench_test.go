package notifier_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"slackrelay/events"
	"slackrelay/notifier"
)

// BenchmarkMessage measures what a courier does for each message before it calls Slack: decode the events, lay the message out,
// and encode it.
func BenchmarkMessage(b *testing.B) {
	started := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	alert := func(i int) notifier.NotificationEvent {
		return notifier.NotificationEvent{Event: events.Event{
			ID: fmt.Sprint("id", i), Source: "alertmanager", Sender: "default", Channel: "alerts", Category: "kubepodcrashlooping",
			Severity: events.Warning, Status: events.Firing, Title: fmt.Sprintf("Pod is crash looping: checkout-7f9c-%d", i),
			Text:        fmt.Sprintf("Pod shop/checkout-7f9c-%d (checkout) is in waiting state (reason: CrashLoopBackOff).", i),
			Fingerprint: fmt.Sprint("f", i), StartedAt: started,
			Labels: map[string]string{
				"alertname": "KubePodCrashLooping", "severity": "warning", "namespace": "shop", "cluster": "prod-1", "job": "kube-state",
				"pod": fmt.Sprintf("checkout-7f9c-%d", i), "container": "checkout", "uid": fmt.Sprintf("8c1b-%d", i),
			},
			Links: []events.Link{
				{Title: "Source", URL: "https://prometheus.example/graph?g0.expr=" + fmt.Sprint(i)},
				{Title: "Runbook", URL: "https://runbooks.example/KubePodCrashLooping"},
				{Title: "Alertmanager", URL: "https://alertmanager.example"},
			},
		}}
	}
	run := func(name string, n notifier.Notification) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			payload := make([][]byte, len(n.Events))
			for i, e := range n.Events {
				payload[i], _ = json.Marshal(e.Event)
			}
			for b.Loop() {
				content := n
				content.Events = make([]notifier.NotificationEvent, len(n.Events))
				for i := range payload {
					if err := json.Unmarshal(payload[i], &content.Events[i].Event); err != nil {
						b.Fatal(err)
					}
					content.Events[i].ResolvedAt = n.Events[i].ResolvedAt
				}
				m := notifier.Renderer{}.Notification(content)
				if _, err := json.Marshal(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("alert", notifier.Notification{Events: []notifier.NotificationEvent{alert(1)}})
	resolved := alert(1)
	resolved.ResolvedAt = started.Add(2 * time.Hour)
	run("resolved", notifier.Notification{Events: []notifier.NotificationEvent{resolved}})
	var group notifier.Notification
	for i := range 20 {
		group.Events = append(group.Events, alert(i))
	}
	run("group of 20", group)
}
