package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"slackrelay/configs"
	"slackrelay/interaction"
	"slackrelay/slackapp"
	"slackrelay/store"
	redisstore "slackrelay/store/redis"
)

// Diagnose checks everything that a configuration refers to: Redis, each Slack token and its scopes, the app-level tokens, the
// address of the dashboard, the clocks, and each Slack channel. It posts nothing and changes nothing. found is called with the
// findings of one subject after the other. It stops when ctx ends.
func Diagnose(ctx context.Context, cfg configs.Config, found func([]slackapp.Finding)) {
	findings, redisSkew := diagnoseRedis(ctx, cfg)
	found(findings)
	compared := clocks{redis: redisSkew}
	inspectors := map[configs.SlackApp]*slackapp.Inspector{}
	for _, access := range cfg.SlackAccesses() {
		if ctx.Err() != nil {
			return
		}
		inspector := slackapp.NewInspector(slackapp.InspectorOptions{
			Setting: access.Setting, Token: string(access.Token), APIURL: access.APIURL, Timeout: cfg.SlackTimeout,
			Acting: slices.ContainsFunc(cfg.Apps(), func(app interaction.App) bool {
				return slices.Contains(app.BotTokens, string(access.Token))
			}),
		})
		findings := inspector.Token(ctx)
		if slackapp.Worst(findings) != slackapp.Fault {
			inspectors[access.SlackApp] = inspector
		}
		if skew, known := inspector.Skew(); known {
			compared.slack = &skew
		}
		found(findings)
	}
	for _, app := range cfg.Apps() {
		if app.AppToken != "" && ctx.Err() == nil {
			found(slackapp.AppToken(ctx, slackapp.InspectorOptions{
				Setting: appTokenSetting(app.Name), Token: app.AppToken, APIURL: app.APIURL, Timeout: cfg.SlackTimeout,
			}))
		}
	}
	if cfg.ExternalURL != "" {
		found(slackapp.ExternalURL(cfg.ExternalURL))
	}
	found(compared.findings())
	diagnoseDestinations(ctx, inspectors, cfg.Destinations(), found)
}

// appTokenSetting names the app-level token of an app in findings.
func appTokenSetting(app string) string {
	if app == "slack_token" {
		return "slack_app_token"
	}
	return "slack_app_token of " + app
}

// diagnoseDestinations checks where messages go. Those of a token that Slack refuses, which has no inspector, are left out: its
// findings say all there is to say.
func diagnoseDestinations(
	ctx context.Context, inspectors map[configs.SlackApp]*slackapp.Inspector, all []configs.Destination, found func([]slackapp.Finding),
) {
	names := map[*slackapp.Inspector][]string{}
	for _, d := range all {
		if inspector := inspectors[d.Access.SlackApp]; d.SlackChannel != "" && inspector != nil {
			names[inspector] = append(names[inspector], d.SlackChannel)
		}
	}
	for inspector, names := range names {
		_ = inspector.Expect(ctx, names) // the finding of each channel says what is wrong
	}
	for _, d := range all {
		inspector := inspectors[d.Access.SlackApp]
		if d.SlackChannel != "" && inspector == nil {
			continue
		}
		findings := diagnoseDestination(ctx, inspector, d)
		if ctx.Err() != nil {
			return
		}
		if inspector != nil {
			if _, refused := inspector.Refused(); refused {
				delete(inspectors, d.Access.SlackApp)
			}
		}
		found(findings)
	}
}

// diagnoseDestination checks where the messages of one setting go.
func diagnoseDestination(ctx context.Context, inspector *slackapp.Inspector, d configs.Destination) []slackapp.Finding {
	switch {
	case d.WebhookURL != "":
		return []slackapp.Finding{slackapp.Webhook(d.Setting, string(d.WebhookURL))}
	case d.SlackChannel != "":
		findings, _ := inspector.Channel(ctx, d.Setting, d.SlackChannel)
		return findings
	default:
		return []slackapp.Finding{{
			Subject: d.Setting, Grade: slackapp.Warning, Message: "has no Slack destination; its messages are only printed on the console",
			Remedy: "set slack_token and slack_channel, or slack_webhook_url",
		}}
	}
}

// diagnoseRedis checks the Redis of a configuration, and returns how far this machine's clock is ahead of its clock; nil =
// unknown.
func diagnoseRedis(ctx context.Context, cfg configs.Config) (findings []slackapp.Finding, skew *time.Duration) {
	const subject = "redis"
	opts, err := cfg.Redis()
	switch {
	case err != nil:
		return []slackapp.Finding{{Subject: subject, Grade: slackapp.Fault, Message: err.Error(), Remedy: "correct the setting"}}, nil
	case opts == nil:
		return []slackapp.Finding{{
			Subject: subject, Grade: slackapp.Warning, Message: "is not configured: one replica only, and a restart loses what is pending",
			Remedy: "set redis_url",
		}}, nil
	}
	client := redis.NewUniversalClient(opts)
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	begun := time.Now()
	warnings, err := redisstore.Probe(ctx, client)
	if err != nil {
		return []slackapp.Finding{{
			Subject: subject, Grade: slackapp.Fault, Message: fmt.Sprintf("%s: %v", cfg.RedisAddress(), err), Remedy: store.Describe(err),
		}}, nil
	}
	took := time.Since(begun)
	for _, warning := range warnings {
		findings = append(findings, slackapp.Finding{Subject: subject, Grade: slackapp.Warning, Message: warning})
	}
	return append(findings, slackapp.Finding{
		Subject: subject, Grade: slackapp.OK,
		Message: fmt.Sprintf("%s is available, and answered in %s", cfg.RedisAddress(), took.Round(time.Millisecond/10)),
	}), redisSkew(ctx, client)
}

// redisSkew returns how far this machine's clock is ahead of that of Redis; nil = unknown.
func redisSkew(ctx context.Context, client redis.UniversalClient) *time.Duration {
	begun := time.Now()
	theirs, err := client.Time(ctx).Result()
	if err != nil {
		return nil
	}
	skew := begun.Add(time.Since(begun) / 2).Sub(theirs)
	return &skew
}
