-- part revision: the revision of the channels that templates made. It rises with each change, also after data was lost.
local function raise_revision()
  local before = tonumber(call('HGET', counts, 'revision') or 0)
  call('HSET', counts, 'revision', int(math.max(now, before + 1)))
end
