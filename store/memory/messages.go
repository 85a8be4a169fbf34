package memory

import "slackrelay/store"

// messageBatch decides what the requests of a batch with a policy mean for messages that are posted, or that wait.
type messageBatch struct {
	batch  *batch
	now    int64
	policy *store.MessagePolicy
	queue  *queue
	posted *posted
	heads  map[string]*bundleHead // by bundle; those without a message by bundle and category
}

func newMessageBatch(b *batch) *messageBatch {
	return &messageBatch{
		batch: b, now: b.tx.now, policy: b.plan.Policy, heads: map[string]*bundleHead{},
		queue: b.tx.outbox(), posted: b.tx.posted(),
	}
}

// decide decides one request that is no duplicate.
func (m *messageBatch) decide(r *store.Request, path store.Path) decision {
	head := m.headOf(r)
	if head == nil && r.Event.InGroup() {
		head = m.resume(r) // before the request resolves the last alert of its group
	}
	d := m.attach(r)
	if m.batch.isForced() {
		d = d.forced()
	}
	if d.attached && d.outcome == store.Delayed {
		d.outcome, d.number = m.delay(r)
		return d
	}
	if head == nil {
		head = m.resume(r)
	}
	switch {
	case d.attached:
	case head != nil:
		d = m.join(head, r)
	case m.waitsBehindOthers():
		d.outcome, d.number = m.delay(r)
	default:
		d = m.askLevels(r, path, d.thread)
	}
	if r.Event.Bundle != "" && head == nil && !d.attached {
		m.newHead(d, r)
	}
	return d
}

// askLevels asks the levels, and applies the overflow policy where they refuse.
func (m *messageBatch) askLevels(r *store.Request, path store.Path, thread int64) decision {
	d := m.batch.askLevels(r, path)
	d.thread = thread
	if d.outcome == store.Admitted {
		m.rememberAdmitted(d, r)
	}
	if d.outcome == store.Dropped {
		d.outcome, d.number = m.overflow(r, path, d.refusal)
	}
	return d
}

// finish forgets old messages, and completes the entries of bundles.
func (m *messageBatch) finish() {
	m.posted.prune(m.now - m.policy.RememberFor().Microseconds())
	for _, head := range m.heads {
		m.appendUnlisted(head)
	}
}

// keep remembers a message.
func (m *messageBatch) keep(changed *message) { m.posted.keep(changed, m.now) }
