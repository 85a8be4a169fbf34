package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"slackrelay/events"
)

// A day has this many of each kind of problem.
const (
	dayFlapping   = 20
	dayClusters   = 5
	dayDependants = 200 // of each cluster
	dayGroups     = 40
	dayGroupSize  = 20
	dayBlips      = 300
	dayQuiet      = 20
	dayLeast      = 6000 // events, so that the services flap
)

// watchdogEvery is how often the watchdog is heard, but for lostFor from lostAt on.
const (
	watchdogEvery = 5 * time.Minute
	lostAt        = 14*time.Hour + 20*time.Minute
	lostFor       = 45 * time.Minute
)

const wholeDay = 24 * time.Hour

// day makes the trace of a day.
type day struct {
	random *rand.Rand
	trace  Trace
}

func generateDay(random *rand.Rand, n int) (Trace, error) {
	if n < dayLeast {
		return nil, fmt.Errorf("a day needs %d events or more, and %d are wanted", dayLeast, n)
	}
	d := day{random: random, trace: make(Trace, 0, n)}
	for i := range dayClusters {
		d.outage(i)
	}
	for i := range dayGroups {
		d.group(i)
	}
	for i := range dayBlips {
		d.blip(i)
	}
	for i := range dayQuiet {
		d.quietProblem(i)
	}
	d.watchdog()
	left := n - len(d.trace)
	for i := range dayFlapping {
		d.flap(i, (left+i)/dayFlapping)
	}
	d.trace.Sort()
	return d.trace, nil
}

// alert adds the firing of an alert at a time, and its resolve after a while.
func (d *day) alert(at, lasts time.Duration, alert Event) {
	alert.Status = events.Firing
	alert.At = at
	d.trace = append(d.trace, alert)
	if end := at + lasts; end < wholeDay {
		alert.Status = events.Resolved
		alert.At = end
		if alert.Webhook != "" {
			alert.Webhook += " resolved"
		}
		d.trace = append(d.trace, alert)
	}
}

// between returns a random time from low up to high.
func (d *day) between(low, high time.Duration) time.Duration {
	return low + time.Duration(d.random.Int64N(int64(high-low)/int64(time.Millisecond)))*time.Millisecond
}

// outage adds a cluster that goes down, and its services that depend on it.
func (d *day) outage(i int) {
	cluster := fmt.Sprintf("cluster-%d", i+1)
	begins := time.Duration(3+4*i)*time.Hour + d.between(0, time.Hour)
	lasts := d.between(25*time.Minute, 50*time.Minute)
	d.alert(begins, lasts, Event{
		Category: "cluster-down", Severity: events.Critical, Sender: "prometheus", Fingerprint: cluster,
		Labels: map[string]string{"alertname": "ClusterDown", "cluster": cluster},
	})
	for k := range dayDependants {
		alertname := [...]string{"TargetDown", "HighErrorRate", "HighLatency", "QueueFull"}[k%4]
		category := [...]string{"target-down", "high-error-rate", "high-latency", "queue-full"}[k%4]
		service := fmt.Sprintf("%s-service-%03d", cluster, k+1)
		d.alert(begins+d.between(5*time.Second, 4*time.Minute), lasts, Event{
			Category: category, Severity: events.Error, Sender: "prometheus", Fingerprint: service,
			Labels: map[string]string{"alertname": alertname, "cluster": cluster, "service": service},
		})
	}
}

// group adds the alerts of a deployment, which arrive in one webhook and are resolved in another.
func (d *day) group(i int) {
	name := fmt.Sprintf("deployment-%02d", i+1)
	at, lasts := d.between(0, wholeDay), d.between(4*time.Minute, 90*time.Minute)
	for k := range dayGroupSize {
		instance := fmt.Sprintf("%s-pod-%02d", name, k+1)
		d.alert(at, lasts, Event{
			Category: "pod-crash-looping", Severity: events.Warning, Sender: "prometheus", Fingerprint: instance, Webhook: name, Group: name,
			Labels: map[string]string{"alertname": "PodCrashLooping", "deployment": name, "pod": instance},
		})
	}
}

// blip adds a problem that ends by itself within a minute and a half.
func (d *day) blip(i int) {
	host := fmt.Sprintf("host-%03d", d.random.IntN(60)+1)
	d.alert(d.between(0, wholeDay), d.between(10*time.Second, 90*time.Second), Event{
		Category: "cpu-high", Severity: events.Warning, Sender: "grafana", Fingerprint: fmt.Sprintf("%s-cpu-%d", host, i),
		Labels: map[string]string{"alertname": "CPUHigh", "host": host},
	})
}

// quietProblem adds the one problem of a category that is quiet else. It lasts, and every other one is critical. Some begin in
// an outage, when the channel is busiest.
func (d *day) quietProblem(i int) {
	category := fmt.Sprintf("quiet-%02d", i+1)
	at := d.between(0, wholeDay)
	if outage := i / 4; i%4 == 0 {
		at = time.Duration(3+4*outage)*time.Hour + d.between(time.Hour, time.Hour+20*time.Minute)
	}
	severity := events.Critical
	if i%2 == 1 {
		severity = events.Error
	}
	d.alert(at, d.between(20*time.Minute, 5*time.Hour), Event{
		Category: category, Severity: severity, Sender: "prometheus", Fingerprint: category,
		Labels: map[string]string{"alertname": category, "team": [...]string{"billing", "search", "mobile"}[i%3]},
	})
}

// watchdog adds the alert that always fires.
func (d *day) watchdog() {
	labels := map[string]string{"alertname": "Watchdog"}
	for at := time.Duration(0); at < wholeDay; at += watchdogEvery {
		if at < lostAt || at >= lostAt+lostFor {
			d.trace = append(d.trace, Event{
				At: at, Category: "watchdog", Severity: events.Info, Status: events.Firing, Sender: "prometheus", Fingerprint: "watchdog",
				Labels: labels,
			})
		}
	}
}

// flap adds a service that changes this often, in three periods of two hours.
func (d *day) flap(i, changes int) {
	service := fmt.Sprintf("service-%02d", i+1)
	alert := Event{
		Category: service + "-unhealthy", Severity: events.Warning, Sender: "prometheus", Fingerprint: service,
		Labels: map[string]string{"alertname": "Unhealthy", "service": service},
	}
	if i < dayFlapping/4 {
		alert.Severity = events.Error
	}
	periods := [...]time.Duration{d.between(0, 6*time.Hour), d.between(8*time.Hour, 14*time.Hour), d.between(16*time.Hour, 22*time.Hour)}
	times := make([]time.Duration, changes)
	for k := range times {
		times[k] = periods[d.random.IntN(len(periods))] + d.between(0, 2*time.Hour)
	}
	slices.Sort(times)
	for k, at := range times {
		alert.At = at
		alert.Status = [...]events.Status{events.Firing, events.Resolved}[k%2]
		d.trace = append(d.trace, alert)
	}
}
