-- part messages/numbers: numbers for more entries, and ids of events without an entry.
local function next_number()
  begin()
  last_number = last_number + 1
  return int(last_number)
end

local function remember_id(id)
  begin()
  admitted_ids[id] = true
  remembered[#remembered + 1], remembered[#remembered + 2] = now_text, id
end
