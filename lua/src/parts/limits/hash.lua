-- part limits/hash: read the numbers that a hash holds.
local function read_numbers(key)
  local flat, state = call('HGETALL', key), {}
  for i = 1, #flat, 2 do state[flat[i]] = tonumber(flat[i + 1]) end
  return state
end
