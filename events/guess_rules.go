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

// The rules of each field, the most reliable first. All words for names of fields are here; those for states are in outcome.go,
// those for severities in severity.go and severity_scales.go. Names are matched by their letters only; see words.
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
			words: namedBy("name *displayname eventname triggername problem trigger"),
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
				jobname job buildername builder buildname pipelinename pipeline workflowname workflow taskname task playbook
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
	severityRules = []guessRule{
		{
			name: "a severity", fits: isSeverity,
			words: namedBy(`
				severity *severity severity* *severitystring criticality *prioritylabel priority *priority urgency *urgency level
				importancelevel alertlevel loglevel *loglevel impact importance`),
		},
		{
			name: "a severity among the labels", fits: isSeverity,
			words: namedBy("labels.severity tags.severity labels.priority annotations.severity labels.level"),
		},
	}
	stateRules = []guessRule{
		{
			name: "the result of a gate", fits: isOutcome,
			words: namedBy("qualitygate.status gate.status"),
		},
		{
			name: "a state", fits: isStrongOutcome,
			words: namedBy(`
				status state currentstate currentstatus alertstatus alertstate incidentstatus monitorstatus newstate newstatus
				*statusstring statename *statename servicestate hoststate result outcome conclusion phase health *status *state
				*result switch transition alerttransition resultmessage statestring incidentstatus.category incidentstatus.name`),
		},
		{
			name: "a state with the former one", fits: hasFormer,
			words: namedBy("level"),
		},
		{
			name: eventKind, fits: isStrongOutcome,
			words: namedBy(`
				eventtype event eventname type kind action actiontype eventaction trigger notificationtype messagetype alerttype
				webhooktype notifytype topic messagetype statusmessage change`),
		},
		{
			name: wentWell, fits: isTruth,
			words: namedBy("success succeeded ok isok passed healthy ishealthy isup up resolved recovered isresolved available alive"),
		},
		{
			name: wentWrong, fits: isTruth,
			words: namedBy("failed isfailed down isdown failure alerting firing active isactive haserror offline"),
		},
		{
			name: exitCode, fits: isNumber,
			words: namedBy("exitcode exitstatus returncode rc"),
		},
		{
			name: "a level that means its end", fits: isResolving,
			words: namedBy("severity *severity level alertlevel clear"),
		},
		{
			name: "a state that is reached at the end", fits: isOutcome,
			words: namedBy("status state result *status *state event eventtype type action trigger notifytype phase"),
		},
	}
	linkRules = []guessRule{
		{
			name: "a link", where: atTop, fits: isUsefulLink,
			words: namedBy(strongLinks),
		},
		{
			name: "a link beside the title", where: besideTitle, fits: isUsefulLink,
			words: namedBy(strongLinks),
		},
		{
			name: "a link beside the state", where: besideState, fits: isUsefulLink,
			words: namedBy(strongLinks),
		},
		{
			name: "a link below", fits: isUsefulLink,
			words: namedBy(strongLinks),
		},
		{
			name: "an address", where: besideTitle, fits: isUsefulLink,
			words: namedBy(weakLinks),
		},
		{
			name: "an address", fits: isUsefulLink,
			words: namedBy(weakLinks),
		},
	}
	fingerprintRules = []guessRule{
		{
			name: "a key of the alert", fits: isID,
			words: namedBy(`
				fingerprint dedupkey dedupekey deduplicationkey dedupid incidentkey alertuid alertkey correlationid groupkey
				uniqueid`),
		},
		{
			name: "the id of an alert", fits: isIDOfAlert,
			words: namedBy(`
				alias alertid incidentid problemid issueid violationid ticketid alertgroupid incident.id alert.id issue.id
				problem.id *alertid *incidentid *problemid ticket.id`),
		},
		{
			name: "the id of a monitor", fits: isID,
			words: namedBy(`
				monitorid checkid testid ruleid sensorid detectorid conditionid entityid eventdefinitionid monitor.id check.id
				test.id check.token snitch.token rule.id condition.id monitor.uuid check.uuid *checkid *monitorid alerttracker`),
		},
		{
			name: "an id beside the title", where: besideTitle, fits: isLastingID,
			words: namedBy("id uuid uid key pid identifier eventid"),
		},
	}
	placeRules = []guessRule{
		{
			name: aHost, fits: isPlace,
			words: namedBy(`
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
	startRules = []guessRule{
		{
			name: "when it began", fits: isTime,
			words: namedBy(`
				startedat startsat starttime startdate startat triggeredat firedat openedat begintime incidentstart* downsince since
				start datestart statestarttime activatedat firstseen`),
		},
	}
	updateRules = []guessRule{
		{
			name: "when it changed", fits: isTime,
			words: namedBy(`
				updatedat updatetime updated updatedate lastupdated timestamp eventtime time datetime date occurredat occurat
				triggertime lastreceived statechangedutctime receivedat *timestamp *time`),
		},
		{
			name: "when it began", fits: isTime,
			words: namedBy("startedat startsat starttime startdate createdat created *startedat"),
		},
	}
)

const (
	strongLinks = `
		link permalink htmlurl weburl html.href web.href permalinks.web links.html detailsurl *detailsurl alerturl incidenturl
		issueurl problemurl ticketurl eventurl *dashboardlink *buildurl *buildstatusurl testrunurl runurl *deploymenturl
		jobrunurl resulturl logsurl logurl browseurl htmlsearchurl inspectorurl displayurl click clickurl linkurl titlelink
		reporturl manageurl links.*details links.deployment *permalink *link linksensor *locallink href errorurl
		violationcharturl permalinkurl`
	kinds = `
		eventtype event eventname webhookevent objectkind type kind alerttype action actiontype trigger topic`
	weakLinks = `
		url *url *uri homepage links.* urls.* dashboard`
)
