-- part messages/attach: decide an event before any level is checked: by an earlier message, by its group, or
-- because others are delayed. attach returns the event's outcome (nil = the levels decide), whether an earlier
-- message decided it, and the lead of its group. It sets the event's number and thread.

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
  local lead = lead_of(event)
  -- An event that resolves the last alert of its group does not end the group within this call.
  if not lead and is_sender_group(event.bundle) then lead = resume(event) end
  local outcome, thread = by_earlier(event)
  if outcome == SUPPRESSED then outcome = without_firing(event) end
  if outcome == DELAYED or outcome == FULL then return outcome, true end
  lead = lead or resume(event)
  if outcome then return outcome, true, lead end
  if lead then return by_group(lead, event), false, lead end
  event.thread = thread
  return wait_behind_others(event), false
end
