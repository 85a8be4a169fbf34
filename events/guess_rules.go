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

// Names of rules on which more depends than the field that they fill.
const (
	alertName      = "the name of an alert"
	jobName        = "the name of a job"
	aMessage       = "a message"
	eventKind      = "the kind of event"
	aTitle         = "a title"
	wentWell       = "whether it went well"
	wentWrong      = "whether it went wrong"
	exitCode       = "an exit code"
	aPhrase        = "a name of several words"
	aService       = "a service"
	aName          = "a name"
	watchedAddress = "an address that is watched"
	aPlace         = "a place"
	aCategory      = "a category"
	aHost          = "a host"
)

// The rules for title, text, place and category, the most reliable first; those for the other fields are in guess_rules_state.go.
// Names of fields are matched by their letters only; see words. The words for states are in outcome.go, those for severities in
// severity.go and severity_scales.go.
var (
	titleRules = []guessRule{
		{
			name: aTitle, fits: isTitle,
			words: namedBy("title *title headline"),
		},
		{
			name: alertName, fits: isThing,
			words: namedBy(`
				alertname *checkname *monitorname monitorfriendlyname *rulename problemname incidentname policyname conditionname
				testname sensorname detectorname searchname check monitor sensor snitch condition test alert alarm savedsearch
				servicedesc`),
		},
		{
			name: "what a rule says", fits: isMessage,
			words: namedBy("rule.description alert.description error.message exception.message rule.name"),
		},
		{
			name: aPhrase, fits: isPhrase,
			words: namedBy("name *displayname eventname triggername problem"),
		},
		{
			name: "a summary", fits: isSentence,
			words: namedBy("summary subject *subject alertsummary shortdescription alertmessage"),
		},
		{
			name: aMessage, fits: isMessage,
			words: namedBy("message msg statusmessage alertmsg shortmessage notificationmessage eventmessage"),
		},
		{
			name: jobName, fits: isName,
			words: namedBy(`
				jobname job stackname stack buildername builder buildname pipelinename pipeline workflowname workflow taskname task playbook
				backupname operationname connection connectionname deploymentname endpointname processname pipelinerun metadata.name`),
		},
		{
			name: aService, fits: isThing,
			words: namedBy("servicename service resourcename entityname"),
		},
		{
			name: aName, fits: isOwnName,
			words: namedBy("*displayname friendlyname name check.alias monitor.alias appname applicationname application app sitename *name"),
		},
		{
			name: "a description", fits: isMessage,
			words: namedBy("*message *msg description *description reason *reason output details text body content error"),
		},
		{
			name: watchedAddress, fits: isWatched,
			words: namedBy(`
				checkurl monitorurl check.url monitor.url targeturl target.url site.url target endpoint websiteurl domain website
				url`),
		},
		{
			name: aPlace, fits: isName,
			words: namedBy(`
				project projectname projectfullname repository repo reponame host hostname device node item resource servername
				*hostname *nodename *devicename`),
		},
		{
			name: eventKind, fits: isKind,
			words: namedBy("eventtype event eventname webhookevent type kind alerttype action trigger topic memo subtype"),
		},
	}
	textRules = []guessRule{
		{
			name: "a text", fits: isText,
			words: namedBy(`
				text longdescription body *description description details detail message *message reason cause *reason output
				*output errormessage error fulllog eventtext triggermessage info notes note content suggestion statestring
				buildstatus`),
		},
	}
	placeRules = []guessRule{
		{
			name: aHost, fits: isPlace,
			words: namedBy(`
				labels.instance labels.host labels.hostname labels.pod tags.host
				host hostname nodename node devicename device machinename instance instancename server servername client.name
				resourcename entityname impactedentity sourcename pod podname vm computer`),
		},
		{
			name: "a part of the system", fits: isPlace,
			words: namedBy(`
				cluster clustername namespace servicename service applicationname appname application app site project projectname
				sitename data.name repository reponame environment`),
		},
	}
	kindRules = []guessRule{
		{
			name: eventKind, where: atTop, fits: isKind,
			words: namedBy(kinds),
		},
		{
			name: eventKind, where: besideTitle, fits: isKind,
			words: namedBy(kinds),
		},
		{
			name: eventKind, fits: isKind,
			words: namedBy("event.type event.name data.type alert.type event.action"),
		},
	}
	categoryRules = []guessRule{
		{
			name: aCategory, where: atTop, fits: isName,
			words: namedBy("category"),
		},
		{
			name: alertName, fits: isThing,
			words: namedBy(`
				alertname *checkname *monitorname monitorfriendlyname *rulename problemname policyname conditionname testname
				sensorname detectorname searchname check monitor sensor snitch condition savedsearch scenario servicedesc
				eventdefinitiontitle insightname policy`),
		},
		{
			name: "the type of alert", fits: isBareKind,
			words: namedBy("alerttype errorclass exceptionclass exceptiontype"),
		},
		{
			name: jobName, fits: isName,
			words: namedBy(`
				jobname job buildername builder buildname pipelinename pipeline workflowname workflow backupname connection
				deploymentname endpointname`),
		},
	}
	partRules = []guessRule{
		{
			name: "a part of the system", fits: isName,
			words: namedBy("servicename service applicationname appname application app project projectname repository reponame"),
		},
	}
)

// kinds are the names of fields for the kind of event.
const kinds = "eventtype event eventname webhookevent objectkind type kind alerttype action actiontype trigger topic"
