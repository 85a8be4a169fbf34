package events

// The rules for severity, state, link, identity and times, the most reliable first.
var (
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
				*result switch transition alerttransition resultmessage statestring incidentstatus.category incidentstatus.name
				triggertype alertaction conditions.reason`),
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
			words: namedBy("success succeeded backtonormal ok isok passed healthy ishealthy isup up resolved recovered isresolved available alive"),
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
			words: namedBy("id uuid uid key identifier eventid"),
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

// strongLinks are the names of fields with an address that a reader wants, weakLinks those of any address.
const (
	strongLinks = `
		link permalink htmlurl weburl html.href web.href permalinks.web links.html detailsurl *detailsurl alerturl incidenturl
		issueurl problemurl ticketurl eventurl *dashboardlink *buildurl *buildstatusurl testrunurl runurl *deploymenturl
		jobrunurl resulturl logsurl logurl browseurl htmlsearchurl inspectorurl displayurl click clickurl linkurl titlelink
		reporturl manageurl links.*details links.deployment *permalink *link linksensor *locallink href errorurl
		violationcharturl permalinkurl`
	weakLinks = "url *url *uri homepage links.* urls.* dashboard"
)
