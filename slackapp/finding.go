package slackapp

// Grade says how much a finding matters.
type Grade string

// The grades.
const (
	OK      Grade = "ok"      // it works
	Warning Grade = "warning" // messages are posted, but something that the relay offers does not work
	Fault   Grade = "fault"   // nothing can be posted
)

// Finding is one result of a check.
type Finding struct {
	// Subject is what was checked, for example "slack_token" or "channel alerts".
	Subject string `json:"subject"`
	Grade   Grade  `json:"grade"`
	// Message says what is wrong or, with [OK], what was found. It contains no secret.
	Message string `json:"message"`
	// Remedy says what to do about it; "" = nothing.
	Remedy string `json:"remedy,omitempty"`
}

// Worst returns the gravest grade of findings; [OK] without any.
func Worst(findings []Finding) Grade {
	worst := OK
	for _, f := range findings {
		switch f.Grade {
		case Fault:
			return Fault
		case Warning:
			worst = Warning
		case OK:
		}
	}
	return worst
}

// report collects the findings of one subject.
type report struct {
	subject  string
	findings []Finding
}

func (r *report) add(grade Grade, message, remedy string) {
	r.findings = append(r.findings, Finding{Subject: r.subject, Grade: grade, Message: message, Remedy: remedy})
}
