package memory

import "slackrelay/store"

// messageBatch decides what the requests of a batch with a policy mean for messages that are posted, or that wait.
type messageBatch struct {
	batch  *batch
	now    int64
	policy *store.MessagePolicy
	queue  *queue
	posted *posted
	heads  map[string]*bundleHead // by bundle and category
}

// messageDecision is what was decided of a request with a policy.
type messageDecision struct {
	outcome  store.Outcome
	refusal  refusal
	number   int64 // of its entry; 0 = none
	thread   int64 // the number of the message that it replies to; 0 = none
	attached bool  // an earlier message decided it: no level was asked
}

func newMessageBatch(b *batch) *messageBatch {
	return &messageBatch{
		batch: b, now: b.tx.now, policy: b.plan.Policy, heads: map[string]*bundleHead{},
		queue: lookOrCreate[queue](b.tx, b.keys.Outbox()), posted: lookOrCreate[posted](b.tx, b.keys.Posted()),
	}
}

// admit decides and counts one request.
func (m *messageBatch) admit(d *store.Decision, r *store.Request, path store.Path) {
	isPromotion := m.batch.isPromotion()
	if isPromotion && m.waitingAt(r) < 0 || !isPromotion && m.batch.isDuplicate(r) {
		d.Outcome, d.Duplicate = store.Duplicate, true
		m.count(r, store.Duplicate)
		return
	}
	decided := m.decide(r, path)
	if decided.outcome.Drops() {
		m.noteDrop(r, decided)
	}
	d.Outcome = decided.outcome
	if d.Outcome == store.Dropped {
		d.RetryAfter = store.Microseconds(decided.refusal.retryAt - m.now)
	}
	if !d.Outcome.Drops() && (d.Outcome != store.Delayed || !isPromotion) {
		m.batch.rememberID(r)
	}
	m.batch.report(d, r, path, decided.refusal)
	m.count(r, decided.outcome)
}

// decide decides one request that is no duplicate.
func (m *messageBatch) decide(r *store.Request, path store.Path) messageDecision {
	d := m.attach(r)
	if m.batch.isForced() {
		d = d.forced()
	}
	if d.attached && d.outcome == store.Delayed {
		d.outcome, d.number = m.delay(r)
		return d
	}
	key := r.Event.Bundle + " " + r.Category
	head := m.heads[key]
	if head == nil {
		head = m.resume(key, r)
	}
	switch {
	case d.attached:
	case head != nil:
		d = m.join(head, r)
	case m.waitsBehindOthers():
		d.outcome, d.number = m.delay(r)
	default:
		d = m.askLevels(r, path, d)
	}
	if r.Event.Bundle != "" && head == nil && !d.attached {
		m.heads[key] = m.newHead(key, d, r)
	}
	return d
}

// askLevels asks the levels, and applies the overflow policy where they refuse.
func (m *messageBatch) askLevels(r *store.Request, path store.Path, d messageDecision) messageDecision {
	d.refusal = m.batch.ask(r, path)
	d.outcome = d.refusal.outcome()
	if d.outcome == store.Admitted {
		d.number = m.batch.commit(r, path, d.refusal.shadow)
		m.rememberAdmitted(d, r)
		return d
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
func (m *messageBatch) keep(number int64, message *store.PostedMessage) {
	m.posted.keep(number, message, m.now)
}
