package events

import (
	"cmp"
	"strings"
)

// isReview recognises reviews: Gitea has an empty one in other webhooks too.
func isReview(o object) bool { return o.has("pull_request") && o.child("review") != nil }

// isDeletion recognises that a branch or a tag was deleted: both say who did it, but only a creation names the main branch.
func isDeletion(o object) bool {
	return o.has("ref", "ref_type", "pusher_type") && !o.has("master_branch")
}

// review describes a review of a pull request, or a comment in one.
func (f *forge) review(event *Event) {
	pull, review := f.child("pull_request"), f.child("review")
	if review == nil {
		review = f.child("comment")
	}
	did := map[string]string{
		"approved": "approved", "changes_requested": "requested changes to", "dismissed": "dismissed a review of",
		"pull_request_review_approved": "approved", "pull_request_review_rejected": "requested changes to",
	}[strings.ToLower(review.first("state", "type"))]
	event.Title = f.sentence(cmp.Or(did, "reviewed"), "pull request", pull.text("number"), pull.text("title"))
	if f.kind == "pull_request_review_comment" {
		event.Title = f.sentence("commented on", "pull request", pull.text("number"), pull.text("title"))
	}
	event.Text = review.first("body", "content")
	event.setLabel("branch", pull.text("head", "ref"))
	event.addLink("Review", "html_url", review.text("html_url"))
	event.addLink("Pull request", "html_url", pull.text("html_url"))
}
