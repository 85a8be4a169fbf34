-- part problems/read: read a document, "<version> <wake> <end> <data>". What has ended is as good as absent:
-- save_problems.lua removes it.
local function read_problem(name)
  local text = call('HGET', problems, name)
  if not text then return nil end
  local version, wake, ends_at, data_at = string.match(text, '^(%d+) (%d+) (%d+) ()')
  if not version then return nil end -- of another program
  if tonumber(ends_at) <= now then return nil end
  return { name = name, version = version, wake = wake, data = string.sub(text, data_at) }
end
