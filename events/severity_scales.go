package events

// scale is a numeric scale of severities: where it is used, and from which number on which severity begins.
type scale struct {
	name  string
	field words  // the number
	with  *words // a field beside it that only senders with this scale have; nil = none is needed
	least float64
	most  float64
	steps []step // the highest first; below the last it is information
}

type step struct {
	from     float64
	severity Severity
}

// scales are asked in order. A number that no scale covers tells nothing: the same "severity": 1 is the worst for one sender and
// the least for another.
var scales = []scale{
	{ // https://docs.ntfy.sh/publish/#message-priority: 5 max, 4 high, 3 default
		name: "ntfy's priorities, 1 to 5", field: namedBy("priority"), with: anyOf("topic"), least: 1, most: 5,
		steps: []step{{5, Critical}, {4, Error}, {3, Warning}},
	},
	{ // https://gotify.net/docs: clients alert from 8 on and make a sound from 4 on
		name: "Gotify's priorities, 0 to 10", field: namedBy("priority"), with: anyOf("appid extras"), least: 0, most: 10,
		steps: []step{{8, Error}, {4, Warning}},
	},
	{ // https://documentation.wazuh.com/current/user-manual/ruleset/rules-classification.html: 12 is high, 15 a severe attack
		name: "Wazuh's rule levels, 0 to 16", field: namedBy("rule.level"), least: 0, most: 16,
		steps: []step{{15, Critical}, {12, Error}, {7, Warning}},
	},
	{ // RFC 5424 6.2.1, as GELF has it: 0 emergency, 2 critical, 3 error, 4 warning
		name: "syslog's severities, 7 to 0", field: namedBy("level severity"), with: anyOf("shortmessage facility syslogseverity"),
		least: 0, most: 7, steps: []step{{5, Info}, {4, Warning}, {3, Error}, {0, Critical}},
	},
	{ // https://getpino.io/#/docs/api?id=loggerlevel-string-gettersetter: 60 fatal, 50 error, 40 warn; Bunyan has the same
		name: "the log levels of pino and Bunyan, 10 to 60", field: namedBy("level"), with: anyOf("msg pid hostname"),
		least: 10, most: 60, steps: []step{{60, Critical}, {50, Error}, {40, Warning}},
	},
	{ // the plugin API of Nagios, https://nagios-plugins.org/doc/guidelines.html#AEN78: 0 ok, 1 warning, 2 critical
		name: "the states of Nagios' plugins, 0 to 3", field: namedBy("check.status check.state servicestateid hoststateid"),
		with: anyOf("output command history occurrences"), least: 0, most: 3, steps: []step{{3, Warning}, {2, Critical}, {1, Warning}},
	},
	{ // https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_findings-severity.html: 7 high, 9 critical; CVSS has the same
		name: "severities up to 10", field: namedBy("severity severityscore cvss cvssscore riskscore score"), least: 6, most: 10,
		steps: []step{{9, Critical}, {7, Error}, {0, Warning}},
	},
}

func anyOf(list string) *words {
	w := namedBy(list)
	return &w
}

// severityOf returns the severity of a number on a scale; "" if it is not on it.
func (c *scale) severityOf(n float64) Severity {
	if n < c.least || n > c.most {
		return ""
	}
	for _, step := range c.steps {
		if n >= step.from {
			return step.severity
		}
	}
	return Info
}
