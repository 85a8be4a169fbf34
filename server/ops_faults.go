package server

import (
	"fmt"
	"strings"

	"slackrelay/pipeline"
)

// maxNamedChannels is how many channels the reason of a refused token names.
const maxNamedChannels = 3

// faultReasons returns what Slack refuses: one reason for each token, whatever the number of its channels, and one for each other
// destination.
func faultReasons(reading *pipeline.Reading) []string {
	var tokens, reasons []string
	faults := map[string]*pipeline.DestinationFault{} // by token
	waiting := map[string][]string{}                  // who waits for a token
	note := func(name, what string, fault *pipeline.DestinationFault) {
		switch {
		case fault == nil:
		case fault.Token == "":
			reasons = append(reasons, withRemedy(name+what+fault.Message, fault))
		case faults[fault.Token] == nil:
			tokens = append(tokens, fault.Token)
			faults[fault.Token] = fault
			fallthrough
		default:
			waiting[fault.Token] = append(waiting[fault.Token], name)
		}
	}
	for i := range reading.Channels {
		ch := &reading.Channels[i]
		note("channel "+ch.Channel, " cannot post: ", ch.State.Fault)
	}
	for i := range reading.Others {
		note(reading.Others[i].Name, " cannot post: ", &reading.Others[i].DestinationFault)
	}
	refused := make([]string, len(tokens))
	for i, token := range tokens {
		refused[i] = withRemedy("Slack refuses the token of "+named(waiting[token])+", whose messages are kept: "+faults[token].Message,
			faults[token])
	}
	return append(refused, bounded(reasons)...)
}

func withRemedy(what string, fault *pipeline.DestinationFault) string {
	if fault.Remedy == "" {
		return what
	}
	return what + "; " + fault.Remedy
}

// named names the first of those who wait: channels, and others.
func named(all []string) string {
	const prefix = "channel "
	if len(all) > 1 && strings.HasPrefix(all[0], prefix) && strings.HasPrefix(all[1], prefix) {
		for i := range all {
			all[i] = strings.TrimPrefix(all[i], prefix)
		}
		all[0] = "channels " + all[0]
	}
	if more := len(all) - maxNamedChannels; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:maxNamedChannels], ", "), more)
	}
	return strings.Join(all, ", ")
}
