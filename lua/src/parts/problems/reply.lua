-- part problems/reply: a reply of documents.
local reply, bytes = { int(now) }, 0
local function add_problem(problem)
  for _, field in ipairs({ 'name', 'version', 'wake', 'data' }) do reply[#reply + 1] = problem[field] end
  bytes = bytes + #problem.data
end
