-- part messages/groups: the events of one bundle become one message. lead is the first of them. The others join
-- it, or share its outcome. It has outcome, refused, retry_at, window, route, number, category, message,
-- is_delayed, is_sent and count (events of the group).
local max_listed, max_members = 10, 2000 -- events that a message lists; alerts that it follows beyond those
local max_group_bytes = 65536 -- of the events that a message lists
local groups = {} -- leads by name
local unlisted = {} -- by number: the lead of a group that grew and has more events than its message lists

-- has_room returns whether a message can list one more event.
local function has_room(events, payload)
  if #events >= max_listed then return false end
  local bytes = #payload
  for i = 1, #events do bytes = bytes + #(events[i].p or '') end
  return bytes < max_group_bytes
end

-- add makes a message report one more event, and returns whether it lists the event.
local function add(message, event, payload, count)
  local status, fingerprint = event.status, event.fingerprint
  local is_followed = status ~= 'resolved' and fingerprint ~= ''
  if has_room(message.events, payload) then
    local events = message.events
    events[#events + 1] = { p = payload, f = is_followed and fingerprint or nil }
    return true
  elseif is_followed and count <= max_listed + max_members then
    message.members = message.members or {}
    message.members[fingerprint] = 0
  elseif status == 'resolved' then
    message.over = (message.over or 0) + 1
  else
    message.more = (message.more or 0) + 1
  end
  return false
end

-- renew gives a lead a new message, because a resolve took the place of the old one.
local function renew(lead)
  local group = lead.message.bundle
  local payload = payload_of(payload_of(entry_of(lead.number)))
  lead.message, lead.is_renewed = new_message(lead.category, payload, 'resolved', ''), true
  lead.message.bundle = group
end

-- without_count returns an entry without the number of the events that it does not list.
local function without_count(entry) return (string.gsub(entry, '\n%+[%d ]+$', '')) end

-- add_to_lead counts an event on the lead's message.
local function add_to_lead(lead, event)
  local payload = payload_of(event.entry)
  lead.count = lead.count + 1
  if add(lead.message, event, payload, lead.count) and not lead.is_sent then
    rewrite(lead.number, without_count(entry_of(lead.number)) .. '\n' .. payload)
  end
  if lead.count > #lead.message.events then unlisted[lead.number] = lead end
end

-- join attaches an event to the message of its group.
local function join(lead, event)
  local number, fingerprint = lead.number, event.fingerprint
  local is_resolve = event.status == 'resolved'
  local is_followed = not is_resolve and fingerprint ~= ''
  remember_id(event.id)
  if deleted[number] and not lead.is_renewed then renew(lead) end
  local message = lead.message
  if is_followed and state_in(message, fingerprint) then
    mark(message, fingerprint, false)
  else
    add_to_lead(lead, event)
  end
  if is_followed and not lead.is_delayed then follow(number, message, fingerprint) end
  if is_resolve and fingerprint ~= '' then
    local resolved, reported_in = find('f:' .. fingerprint)
    if resolved then end_alert(resolved, reported_in, fingerprint) end
  end
  if is_followed or loaded[number] or message.events[1].f then
    change(number, message)
    if message.bundle then point('b:' .. message.bundle, number) end
  end
  if lead.is_sent then edit(number, message, now) end
end

local function is_sender_group(bundle) return string.sub(bundle, 1, 1) == '#' end

-- outlives_call returns whether later calls may add to a bundle: "@" is a webhook of several calls, "#" a group
-- of a sender.
local function outlives_call(bundle) return string.find(bundle, '^[@#]') ~= nil end

-- may_resume returns whether an event of a later call may join a message. A group has one message as long as one
-- of its alerts is firing; without options.repeats, a repeat begins another.
local function may_resume(message, event)
  if not is_sender_group(event.bundle) then return true end
  if is_unreachable(message) or not is_any_firing(message) then return false end
  return options.repeats or event.status ~= 'firing' or state_in(message, event.fingerprint) ~= 'firing'
end

-- resume finds the message of a group that continues an earlier call.
local function resume(event)
  local group = event.bundle
  if not outlives_call(group) then return end
  local number, message = find('b:' .. group)
  if not number or not may_resume(message, event) then return end
  local lead = {
    outcome = ADMITTED, refused = 0, retry_at = now, window = FIRST, number = number, category = message.category,
    count = count_alerts(message), message = message,
    is_delayed = call('ZSCORE', delayed, number .. ' ' .. message.category) and true or false,
  }
  lead.is_sent, growing[number] = not lead.is_delayed and not is_waiting(number), lead.is_delayed or nil
  groups[group] = lead
  return lead
end

-- lead_of returns the lead of an event's group: the one that has a message, or the one of the same category that
-- was refused.
local function lead_of(event)
  local bundle = event.bundle
  return groups[bundle] or groups[bundle .. ' ' .. event.category]
end

-- lead notes the first event of a group.
function editor.lead(event, route)
  local category, number, bundle = event.category, event.number, event.bundle
  local lead = {
    outcome = event.outcome, refused = event.refused, retry_at = event.retry_at, window = event.window,
    route = route, number = number, category = category, count = 1,
    is_delayed = event.outcome == DELAYED,
  }
  groups[number and bundle or bundle .. ' ' .. category] = lead
  if not number then return end
  lead.message = loaded[number] or new_message(category, payload_of(event.entry), event.status, event.fingerprint)
  if not outlives_call(bundle) then return end
  lead.message.bundle = bundle
  point('b:' .. bundle, number)
  change(number, lead.message)
end

-- finish adds to the entry how many events of the group it does not list.
function editor.finish()
  for number, lead in pairs(unlisted) do
    if not lead.is_sent then
      local message = lead.message
      local over = (message.over or 0) > 0 and ' ' .. int(message.over) or ''
      rewrite(number, without_count(entry_of(number)) .. '\n+' .. int(lead.count - #message.events) .. over)
    end
  end
end
