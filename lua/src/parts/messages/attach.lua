-- part messages/attach: decide an event before any level is asked: by an earlier message, by its group, or
-- because others wait for a slot. Sets the event's outcome (nil = ask the levels), number, thread and lead;
-- is_attached: the outcome comes from an earlier message.

-- by_group returns the outcome of an event whose group has a lead.
local function by_group(lead, event)
  if lead.number then
    join(lead, event)
    return MERGED
  elseif lead.outcome == MERGED then
    return count_on_last(event) or DROPPED
  end
  return lead.outcome
end

function editor.attach(event)
  local category = event.route.category
  local outcome, thread = by_earlier(event)
  if outcome == SUPPRESSED then outcome = without_firing(event) end
  if outcome == DELAYED or outcome == FULL then
    event.outcome, event.is_attached = outcome, true
    return
  end
  local lead = groups[event.bundle .. ' ' .. category] or resume(event.bundle, category)
  if outcome then
    event.outcome, event.is_attached, event.lead = outcome, true, lead
  elseif lead then
    event.outcome, event.lead = by_group(lead, event), lead
  elseif not wait_behind_others(event) then
    event.thread = thread
  end
end
