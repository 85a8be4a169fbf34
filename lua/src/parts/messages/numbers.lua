-- part messages/numbers: numbers for further entries, and ids that get none.
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
