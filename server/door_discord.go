package server

import (
	"net/http"
	"strconv"
	"time"

	"slackrelay/events"
	"slackrelay/pipeline"
)

// discordDoor is a webhook of Discord, or one of its variants for tools that speak to Slack or send GitHub's webhooks
// (https://discord.com/developers/docs/resources/webhook#execute-webhook). The token is the last part of the path.
func discordDoor(source string, reply func(s *Server, in *ingestRequest, arrival pipeline.Arrival)) door {
	return door{source: source, place: "the last part of the path", handle: postDoor(pathToken, reply), fail: failDiscord}
}

// replyDiscord replies with nothing, or with the message if the sender waits for it.
func replyDiscord(s *Server, in *ingestRequest, arrival pipeline.Arrival) {
	if wait, err := strconv.ParseBool(in.query().Get("wait")); err != nil || !wait {
		in.w.WriteHeader(http.StatusNoContent)
		return
	}
	const noID = "0" // the relay has no ids of channels and webhooks, and clients want numbers
	none := []any{}
	s.writeJSON(in.w, in.r, http.StatusOK, map[string]any{
		"id": s.snowflake(in.now), "type": 0, "channel_id": noID, "webhook_id": noID,
		"author":    map[string]any{"id": noID, "username": arrival.Sender, "avatar": nil, "discriminator": "0000", "bot": true},
		"content":   arrival.Events[0].Title,
		"timestamp": in.now.UTC().Format(time.RFC3339), "edited_timestamp": nil,
		"embeds": none, "attachments": none, "components": none, "mentions": none, "mention_roles": none,
		"mention_everyone": false, "pinned": false, "tts": false, "flags": 0,
	})
}

// discordEpoch is the beginning of 2015 in milliseconds, from which Discord counts the time in its ids.
const discordEpoch = 1_420_070_400_000

// snowflake returns an id as Discord makes them: the time in milliseconds, and 22 bits that make it unique.
func (s *Server) snowflake(now time.Time) string {
	const uniqueBits, thousand = 22, 1000
	micros := s.timestamps.micros(now)
	return strconv.FormatInt((micros/thousand-discordEpoch)<<uniqueBits|micros%thousand, 10)
}

// discordErrors are Discord's codes; the others are 0, a general error
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#json).
var discordErrors = map[events.Code]int{
	unauthorized: 50027, unknownChannel: 10015, forbidden: 50001, bodyTooLarge: 40005,
	events.EmptyBody: 50006, events.BadField: 50006, events.BadJSON: 50109,
}

func failDiscord(s *Server, f doorFault) {
	f.writeJSON(s, f.status, map[string]any{"code": discordErrors[f.code], "message": f.message})
}
