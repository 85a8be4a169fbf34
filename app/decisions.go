package app

import (
	"cmp"
	"context"
	"io"
	"time"

	"slackrelay/configs"
	"slackrelay/decisionlog"
)

// decisionFlushTimeout bounds writing the last lines of the decision log when the relay stops.
const decisionFlushTimeout = 3 * time.Second

// openDecisionLog starts the decision log where decision_log is set.
func (r *Relay) openDecisionLog(context.Context) error {
	sink, err := r.decisionSink()
	if sink == nil || err != nil {
		return err
	}
	r.decisions = decisionlog.New(decisionlog.Options{Sink: sink, Replica: r.owner, Registerer: r.registry, Logger: r.log})
	return nil
}

// decisionSink opens what decision_log names; nil = nothing.
func (r *Relay) decisionSink() (io.Writer, error) {
	switch to := r.started.DecisionLog; {
	case to == "":
		return nil, nil //nolint:nilnil // there is none
	case to == configs.DecisionLogStdout:
		return cmp.Or(r.opts.Stdout, io.Discard), nil
	case configs.IsDecisionLogURL(to):
		header, _ := r.started.DecisionHeader() // validated before
		return decisionlog.NewWebhook(to, header), nil
	default:
		return decisionlog.OpenFile(to) //nolint:wrapcheck // it names the file
	}
}

func (r *Relay) closeDecisionLog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), decisionFlushTimeout)
	defer cancel()
	r.decisions.Close(ctx)
}
