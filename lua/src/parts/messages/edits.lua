-- part messages/edits: edit messages that are in Slack.
local edits = {} -- by number: when it is due
local unsent = {} -- whether an edit waits without an attempt, as of the beginning of the batch
editor = {}

local function enter(number, entry)
  waiting[#waiting + 1], waiting[#waiting + 2] = number, entry
  entered[number] = #waiting
end

-- is_unsent_edit returns whether an edit waits without an attempt.
local function is_unsent_edit(number)
  if unsent[number] == nil then
    unsent[number] = call('HEXISTS', entries, number) == 1 and call('HEXISTS', entries, number .. ':sent') == 0
  end
  return unsent[number]
end

-- edit enqueues an edit of a message for a time, unless an earlier edit without an attempt waits.
local function edit(number, message, at)
  change(number, message)
  local last = message.edit
  local is_fresh = last and (edits[last] or is_unsent_edit(last))
  if is_fresh and tonumber(message.due) <= at then return end
  if not is_fresh then
    last = next_number()
    enter(last, now_text .. ' edit ' .. number)
  end
  message.edit, message.due, edits[last] = last, int(at), int(at)
end

-- is_unreachable returns whether it is unknown where in Slack a message is. It cannot be edited then, or replied
-- to.
local function is_unreachable(message) return message.shown and not message.ts end

-- can_edit returns false for messages whose text is unknown, because they were posted while this server was
-- unavailable.
local function can_edit(message)
  return options.resolves == 'edit' and not is_unreachable(message) and message.events and message.events[1].p
end

local function store_edits()
  if not next(edits) then return end
  for number, at in pairs(edits) do call('ZADD', extras, at, number) end
  look_now('send', extras)
end

editor.enter = enter
