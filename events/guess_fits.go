package events

import (
	"slices"
	"strings"
	"unicode"
)

// The functions of this file decide whether a value fits a rule.

// commitFields are beside the title and message of a commit, which tell nothing about the event.
var commitFields = anyOf(`
	commit commitid commitref commitsha commithash sha shortcommitid committer committedat authorlogin baseref comment`)

func isOfCommit(b *guess, s *scalar) bool { return b.all.beside(s, commitFields) != nil }

// isTitle rejects numbers, words like BRANCH or NORMAL and the names of states.
func isTitle(b *guess, s *scalar) bool {
	line := *s
	line.text = cut(firstLine(s.text), maxName)
	return isName(b, &line) && !isOfCommit(b, s)
}

// isWatched is the address or the domain of something that is watched: the body tells a state.
func isWatched(b *guess, s *scalar) bool {
	return s.kind == '"' && !strings.ContainsAny(s.text, " \n") && strings.ContainsAny(s.text, ".:") && b.all.beside(s, watchedFields) != nil
}

var watchedFields = anyOf(`
	status *status statuscode down up laststatus responsetime responsecode downtime uptime state checkid monitorid error`)

// isName reports whether a text can name something: it has letters, is neither a constant like BRANCH nor a state, and no address.
func isName(b *guess, s *scalar) bool { return isThing(b, s) && !isConstant(s.text) }

// maxName is the length of the longest name, in bytes.
const maxName = 300

// isThing is isName for fields whose names are telling, so that a constant like HTTP is a name as well.
func isThing(_ *guess, s *scalar) bool {
	if s.kind != '"' || strings.IndexFunc(s.text, unicode.IsLetter) < 0 || isLink(s.text) || len(s.text) > maxName || s.text[0] == '{' ||
		strings.Contains(s.text, "\n") {
		return false
	}
	if strings.Contains(s.text, " ") {
		return true
	}
	_, isState := outcomes[strings.ToLower(s.text)]
	return !isState && !isIdentifier(s.text)
}

// isOwnName is isName for names that are of no particular thing: those of places and people are not the subject.
func isOwnName(b *guess, s *scalar) bool {
	return isName(b, s) && !placeParents[s.of] && !peopleName.has(s)
}

var placeParents = setOf(`
	project repository repo organization environment region host server source destination browser os device location
	qualitygate branch manager decoder cluster plugin component client requester metric field severity incidentstatus state
	status priority integration stage gate blocks jobs tag`)

// peopleName are fields with the name of a person, of a group of them, of a company or of a file.
var peopleName = namesOf(`
	username fullname firstname lastname ownername authorname committername groupname teamname companyname organizationname
	orgname accountname requestername agentname tagname branchname channelname databasename filename domainname brandname
	tenantname regionname environmentname planname workspacename spacename bucketname zonename ticketrequestername
	yamlfilename classname queuename hostname *hostname nodename *nodename devicename *devicename servername instancename
	sourcename clustername agentname machinename projectname reponame *reponame typename displayusername statename
	*statename labelname fieldname attributename metricname imagename pluginname rulesetname decodername scenarioname
	modelname`)

type nameSet struct{ words }

func namesOf(list string) nameSet { return nameSet{namedBy(list)} }

func (n *nameSet) has(s *scalar) bool { return n.place(s) < none }

// isPhrase is a name of at least two words, of nothing but the event itself.
func isPhrase(b *guess, s *scalar) bool { return isOwnName(b, s) && strings.Contains(s.text, " ") }

// isSentence is a summary. Beside a name of several words it is a text.
func isSentence(b *guess, s *scalar) bool {
	return isTitle(b, s) && strings.Contains(s.text, " ")
}

// isMessage is a message of at least two words, which is not that of a commit.
func isMessage(b *guess, s *scalar) bool {
	return isTitle(b, s) && strings.Contains(s.text, " ") && !strings.Contains(s.name, "commit") && !strings.Contains(s.name, "git") &&
		s.of != "job" && s.of != "project" && s.of != "repository"
}

// isKind is the name of a kind of event: at most a few words.
func isKind(_ *guess, s *scalar) bool {
	return s.kind == '"' && len(s.text) <= 60 && strings.IndexFunc(s.text, unicode.IsLetter) >= 0 && !isLink(s.text) &&
		!strings.ContainsAny(s.text, "\n@<>=") && strings.Count(s.text, " ") < maxKindWords
}

// maxKindWords is how many words the name of a kind has. A text with more is a sentence.
const maxKindWords = 4

// plainKinds are kinds of events that tell nothing.
var plainKinds = setOf(`
	alert event webhook notification message create created update updated build push test user job hook object item text
	string check default generic issue incident al stage messagecard summary email http website ping url add edit edited new
	monitor deployment deploy snitch run key insert delete deleted record change changed agent branch trigger app
	integration comment service problem`)

// isBareKind is a kind that tells something and is no state.
func isBareKind(b *guess, s *scalar) bool {
	o, _ := outcomeOf(s.text)
	return isKind(b, s) && o.status == NoStatus && !plainKinds[strings.ToLower(s.text)] && severityIn(s.text) == ""
}

// isConstant reports whether a text is a constant of a program: BRANCH, HTTP, NEW_ALERT.
func isConstant(text string) bool {
	return len(text) <= 40 && text == strings.ToUpper(text) && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}

// isIdentifier reports whether a text without spaces is an id rather than a name: mostly digits and hex.
func isIdentifier(text string) bool {
	digits := strings.Count(fold(text), "n") - strings.Count(strings.ToLower(text), "n")
	return len(text) >= 16 && digits > 0 && strings.Trim(strings.ToLower(text), "0123456789abcdef-") == ""
}

// isText is a text that tells more than the title.
func isText(b *guess, s *scalar) bool {
	switch {
	case s.kind != '"', len(s.text) < 2, s.text[0] == '{', s.text == b.title, b.isSubject(s):
		return false
	case isLink(s.text), isConstant(s.text), isOfCommit(b, s):
		return false
	default:
		return outcomes[strings.ToLower(s.text)].status == NoStatus
	}
}

// isSubject reports whether a text is in the title already, and no more.
func (b *guess) isSubject(s *scalar) bool {
	return b.composed && s.text == b.subject.text && len(s.text) <= maxHeadline && !strings.Contains(s.text, "\n")
}

func isSeverity(_ *guess, s *scalar) bool {
	return s.kind == '"' && severityIn(s.text) != ""
}

// isOutcome reports whether a text names a state.
func isOutcome(b *guess, s *scalar) bool {
	o, _ := outcomeOf(s.text)
	return s.kind == '"' && o.status != NoStatus && !isFormer(s) && !exceptions[s.of] && (!o.alerts || b.isAlert())
}

// exceptions are objects about an exception: that its type is Error tells nothing.
var exceptions = setOf("err error exception")

// isAlert reports whether the body is about an alert, an incident or a ticket.
func (b *guess) isAlert() bool {
	for i := range b.all {
		s := &b.all[i]
		if s.depth > 2 {
			return false
		}
		if !s.aside && (severityNames.place(s) < none || slices.ContainsFunc(alertNames, func(part string) bool {
			return strings.Contains(s.name, part) || strings.Contains(s.of, part)
		})) {
			return true
		}
	}
	return false
}

var (
	alertNames = []string{
		"alert", "incident", "problem", "monitor", "violation", "threshold", "check", "ticket", "alarm", "sensor", "trigger", "outage",
	}
	severityNames = anyOf("severity *severity priority *priority criticality urgency impact")
)

func isStrongOutcome(b *guess, s *scalar) bool {
	o, _ := outcomeOf(s.text)
	return isOutcome(b, s) && !o.weak
}

// isFormer reports whether a field is about the time before.
func isFormer(s *scalar) bool {
	return strings.Contains(s.name, "previous") || strings.HasPrefix(s.name, "old") || strings.HasPrefix(s.name, "last") ||
		strings.HasPrefix(s.name, "initial") || strings.HasPrefix(s.of, "previous")
}

// hasFormer reports whether a state is beside the former one: a level is a state if it changes.
func hasFormer(b *guess, s *scalar) bool {
	return isOutcome(b, s) && b.all.beside(s, formerFields) != nil
}

var formerFields = anyOf("previous* former* old*")

// isResolving reports whether a severity means that all is well: "severity": "clear".
func isResolving(_ *guess, s *scalar) bool {
	o, _ := outcomeOf(s.text)
	return s.kind == '"' && o.status == Resolved
}

// isTruth reports whether a value is true or false: 0 and 1 are.
func isTruth(_ *guess, s *scalar) bool {
	return s.kind == 't' || s.kind == 'f' || s.text == "0" || s.text == "1" || s.text == "true" || s.text == "false"
}

func isNumber(_ *guess, s *scalar) bool {
	_, ok := s.number()
	return ok
}

// isPlace is a short text that the title does not have.
func isPlace(_ *guess, s *scalar) bool {
	return s.kind == '"' && len(s.text) <= 80 && !strings.Contains(s.text, "\n") && !isConstant(s.text) && !isIdentifier(s.text)
}

// firstYear is before any time that a sender means: smaller numbers are no times.
const firstYear = 2000

func isTime(_ *guess, s *scalar) bool {
	return (s.kind == '"' || s.kind == '0') && timeOf(s.text).Year() > firstYear
}
