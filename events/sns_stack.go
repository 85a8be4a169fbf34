package events

import "strings"

// stackEvent decodes a notification of AWS CloudFormation, which has a line Name='value' for each field
// (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cfn-console-create-stack-advanced-options.html).
func stackEvent(text string) Event {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "='")
		fields[name] = strings.TrimSuffix(value, "'")
	}
	stack, status := fields["StackName"], fields["ResourceStatus"]
	resource := fields["LogicalResourceId"]
	event := Event{
		Category: joined(" ", "stack", stack), Text: fields["ResourceStatusReason"],
		Title: joined(" ", "CloudFormation:", stack, resource, spaced(strings.ToLower(status))),
	}
	event.awsOutcome(status, joined(" ", fields["StackId"], resource))
	event.setLabel("resource_type", fields["ResourceType"])
	event.setLabel("status", status)
	return event
}
