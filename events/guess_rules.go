package events

// guessRule is one way to fill a field of an event: a body's field of one of these names whose value fits.
type guessRule struct {
	name  string // as an explanation has it
	words words
	where where
	fits  func(b *guess, s *scalar) bool // nil = any value does
}

// where is where a rule looks.
type where int

const (
	anywhere    where = iota // nearest to the top first
	atTop                    // among the fields of the body itself
	besideTitle              // in the object that has the title
	besideState              // in the object that has the state
)

// The rules of each field, the most reliable first. All words for names of fields are here; those for states are in outcome.go,
// those for severities in severity.go and severity_scales.go. Names are matched by their letters only; see words.
var (
	titleRules = []guessRule{
		{"a title", namedBy("title|*title|headline"), anywhere, isTitle},
		{"the name of an alert", namedBy("alertname|*checkname|*monitorname|monitorfriendlyname|*rulename|problemname|incidentname|policyname|" +
			"conditionname|testname|sensorname|detectorname|searchname|check|monitor|sensor|snitch|condition|test|alert|alarm|savedsearch|" +
			"servicedesc"), anywhere, isThing},
		{"what a rule says", namedBy("rule.description|alert.description|error.message|exception.message|rule.name"), anywhere, isMessage},
		{"a name of several words", namedBy("name|*displayname"), anywhere, isPhrase},
		{"a summary", namedBy("summary|subject|*subject|alertsummary|shortdescription|alertmessage"), anywhere, isSentence},
		{"a message", namedBy("message|msg|statusmessage|alertmsg|shortmessage|notificationmessage|eventmessage"), anywhere, isMessage},
		{"the name of a job", namedBy("jobname|job|buildername|builder|buildname|pipelinename|pipeline|workflowname|workflow|taskname|task|" +
			"playbook|backupname|operationname|connection|connectionname|deploymentname|endpointname|processname|pipelinerun|metadata.name"),
			anywhere, isName},
		{"a service", namedBy("servicename|service|resourcename|entityname"), anywhere, isThing},
		{"a name", namedBy("*displayname|friendlyname|name|check.alias|monitor.alias|appname|applicationname|application|app|sitename|*name"), anywhere, isOwnName},
		{"a description", namedBy("*message|*msg|description|*description|reason|*reason|output|details|text|body|content|error"), anywhere, isMessage},
		{"an address that is watched", namedBy("checkurl|monitorurl|check.url|monitor.url|targeturl|target.url|site.url|target|endpoint|" +
			"websiteurl|domain|website|url"), anywhere, isWatched},
		{"a place", namedBy("project|projectname|projectfullname|repository|repo|reponame|host|hostname|device|node|item|resource|" +
			"servername|*hostname|*nodename|*devicename"), anywhere, isName},
		{"the kind of event", namedBy("eventtype|event|eventname|webhookevent|type|kind|alerttype|action|trigger|topic|memo|subtype"),
			anywhere, isKind},
	}
	textRules = []guessRule{
		{"a text", namedBy("text|longdescription|body|*description|description|details|detail|message|*message|reason|cause|*reason|output|" +
			"*output|errormessage|error|fulllog|eventtext|triggermessage|info|notes|note|content|suggestion|statestring|buildstatus"), anywhere, isText},
	}
	severityRules = []guessRule{
		{"a severity", namedBy("severity|*severity|severity*|*severitystring|criticality|*prioritylabel|priority|*priority|urgency|*urgency|level|" +
			"importancelevel|alertlevel|loglevel|*loglevel|impact|importance"), anywhere, isSeverity},
		{"a severity among the labels", namedBy("labels.severity|tags.severity|labels.priority|annotations.severity|labels.level"), anywhere, isSeverity},
	}
	stateRules = []guessRule{
		{"the result of a gate", namedBy("qualitygate.status|gate.status"), anywhere, isOutcome},
		{"a state", namedBy("status|state|currentstate|currentstatus|alertstatus|alertstate|incidentstatus|monitorstatus|newstate|newstatus|" +
			"*statusstring|statename|*statename|servicestate|hoststate|result|outcome|conclusion|phase|health|*status|*state|*result|" +
			"switch|transition|alerttransition|resultmessage|statestring|incidentstatus.category|incidentstatus.name"), anywhere, isStrongOutcome},
		{"a state with the former one", namedBy("level"), anywhere, hasFormer},
		{"the kind of event", namedBy("eventtype|event|eventname|type|kind|action|actiontype|eventaction|trigger|notificationtype|messagetype|" +
			"alerttype|webhooktype|notifytype|topic|messagetype|statusmessage|change"), anywhere, isStrongOutcome},
		{"whether it went well", namedBy("success|succeeded|ok|isok|passed|healthy|ishealthy|isup|up|resolved|recovered|isresolved|available|alive"),
			anywhere, isTruth},
		{"whether it went wrong", namedBy("failed|isfailed|down|isdown|failure|alerting|firing|active|isactive|haserror|offline"), anywhere, isTruth},
		{"an exit code", namedBy("exitcode|exitstatus|returncode|rc"), anywhere, isNumber},
		{"a level that means its end", namedBy("severity|*severity|level|alertlevel|clear"), anywhere, isResolving},
		{"a state that is reached at the end", namedBy("status|state|result|*status|*state|event|eventtype|type|action|trigger|notifytype|phase"),
			anywhere, isOutcome},
	}
	linkRules = []guessRule{
		{"a link", namedBy(strongLinks), atTop, isUsefulLink},
		{"a link beside the title", namedBy(strongLinks), besideTitle, isUsefulLink},
		{"a link beside the state", namedBy(strongLinks), besideState, isUsefulLink},
		{"a link below", namedBy(strongLinks), anywhere, isUsefulLink},
		{"an address", namedBy(weakLinks), besideTitle, isUsefulLink},
		{"an address", namedBy(weakLinks), anywhere, isUsefulLink},
	}
	fingerprintRules = []guessRule{
		{"a key of the alert", namedBy("fingerprint|dedupkey|dedupekey|deduplicationkey|dedupid|incidentkey|alertuid|alertkey|correlationid|groupkey|" +
			"uniqueid"), anywhere, isID},
		{"the id of an alert", namedBy("alias|alertid|incidentid|problemid|issueid|violationid|ticketid|alertgroupid|incident.id|alert.id|issue.id|" +
			"problem.id|*alertid|*incidentid|*problemid|ticket.id"), anywhere, isIDOfAlert},
		{"the id of a monitor", namedBy("monitorid|checkid|testid|ruleid|sensorid|detectorid|conditionid|entityid|eventdefinitionid|monitor.id|" +
			"check.id|test.id|check.token|snitch.token|rule.id|condition.id|monitor.uuid|check.uuid|*checkid|*monitorid|alerttracker"), anywhere, isID},
		{"an id beside the title", namedBy("id|uuid|uid|key|pid|identifier"), besideTitle, isLastingID},
	}
	placeRules = []guessRule{
		{"a host", namedBy("host|hostname|nodename|node|devicename|device|machinename|instance|instancename|server|servername|client.name|" +
			"resourcename|entityname|impactedentity|sourcename|pod|podname|vm|computer"), anywhere, isPlace},
		{"a part of the system", namedBy("cluster|clustername|namespace|servicename|service|applicationname|appname|application|app|site|project|" +
			"projectname|sitename|data.name|repository|reponame|environment"), anywhere, isPlace},
	}
	kindRules = []guessRule{
		{"the kind of event", namedBy(kinds), atTop, isKind},
		{"the kind of event", namedBy(kinds), besideTitle, isKind},
		{"the kind of event", namedBy("event.type|event.name|data.type|alert.type|event.action"), anywhere, isKind},
	}
	categoryRules = []guessRule{
		{"a category", namedBy("category"), atTop, isName},
		{"the name of an alert", namedBy("alertname|*checkname|*monitorname|monitorfriendlyname|*rulename|problemname|policyname|conditionname|" +
			"testname|sensorname|detectorname|searchname|check|monitor|sensor|snitch|condition|savedsearch|scenario|servicedesc|" +
			"eventdefinitiontitle|insightname|policy"), anywhere, isThing},
		{"the type of alert", namedBy("alerttype|errorclass|exceptionclass|exceptiontype"), anywhere, isBareKind},
		{"the name of a job", namedBy("jobname|job|buildername|builder|buildname|pipelinename|pipeline|workflowname|workflow|backupname|" +
			"connection|deploymentname|endpointname"), anywhere, isName},
	}
	partRules = []guessRule{
		{"a part of the system", namedBy("servicename|service|applicationname|appname|application|app|project|projectname|repository|reponame"),
			anywhere, isName},
	}
	startRules = []guessRule{
		{"when it began", namedBy("startedat|startsat|starttime|startdate|startat|triggeredat|firedat|openedat|begintime|incidentstart*|downsince|" +
			"since|start|datestart|statestarttime|activatedat|firstseen"), anywhere, isTime},
	}
	updateRules = []guessRule{
		{"when it changed", namedBy("updatedat|updatetime|updated|updatedate|lastupdated|timestamp|eventtime|time|datetime|date|occurredat|occurat|" +
			"triggertime|lastreceived|statechangedutctime|receivedat|*timestamp|*time"), anywhere, isTime},
		{"when it began", namedBy("startedat|startsat|starttime|startdate|createdat|created|*startedat"), anywhere, isTime},
	}
)

const (
	strongLinks = "link|permalink|htmlurl|weburl|html.href|web.href|permalinks.web|links.html|detailsurl|*detailsurl|alerturl|incidenturl|issueurl|" +
		"problemurl|ticketurl|eventurl|*dashboardlink|*buildurl|*buildstatusurl|testrunurl|runurl|*deploymenturl|jobrunurl|resulturl|logsurl|" +
		"logurl|browseurl|htmlsearchurl|inspectorurl|displayurl|click|clickurl|linkurl|titlelink|reporturl|manageurl|links.*details|" +
		"links.deployment|*permalink|*link|linksensor|*locallink|href|errorurl|violationcharturl|permalinkurl"
	kinds     = "eventtype|event|eventname|webhookevent|objectkind|type|kind|alerttype|action|actiontype|trigger|topic"
	weakLinks = "url|*url|*uri|homepage|links.*|urls.*|dashboard"
)
