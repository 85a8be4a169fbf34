-- part restore/outage: what happened to an event while this server was unavailable.
local results = { delivered = true, failed = true, expired = true }

-- read_outage returns nil if the text is not valid.
local function read_outage(text)
  local is_json, outage = pcall(cjson.decode, text == '' and '{}' or text)
  if not is_json or type(outage) ~= 'table' or outage.result and not results[outage.result] then return nil end
  return outage
end
