-- part restore/past: what became of an event while this server was away.
local results = { delivered = 0, failed = 0, expired = 0 } -- how many of each

-- read_past returns nil where the text is not a past.
local function read_past(text)
  local is_json, past = pcall(cjson.decode, text == '' and '{}' or text)
  if not is_json or type(past) ~= 'table' or past.result and not results[past.result] then return nil end
  return past
end
