-- part heartbeat/levels: the windows that replicas use: a digest for each replica, and each text once.

-- write_levels stores the caller's windows, and returns whether their text is missing.
local function write_levels()
  if digest == '' then
    call('HDEL', levels, replica)
    return false
  end
  if text == '' and call('HEXISTS', texts, digest) == 0 then return true end
  call('HSET', levels, replica, digest)
  if text ~= '' then call('HSET', texts, digest, text) end
  return false
end

-- digests_in_use deletes replicas that are not alive. It returns by digest whether another replica uses it, and
-- how many digests there are.
local function digests_in_use()
  local flat, by_others, count = call('HGETALL', levels), {}, 0
  for i = 1, #flat, 2 do
    local name, its_digest = flat[i], flat[i + 1]
    if not call('ZSCORE', alive, name) then
      call('HDEL', levels, name)
    else
      if by_others[its_digest] == nil then count = count + 1 end
      by_others[its_digest] = by_others[its_digest] or name ~= replica
    end
  end
  return by_others, count
end

-- delete_unused_texts keeps only the texts of digests that are in use.
local function delete_unused_texts(by_others, count)
  if call('HLEN', texts) <= count then return end
  local flat = call('HGETALL', texts)
  for i = 1, #flat, 2 do
    if by_others[flat[i]] == nil then call('HDEL', texts, flat[i]) end
  end
end

-- texts_of_others lists the digests of other replicas, each with its text where the caller does not have it.
local function texts_of_others(by_others)
  local list, has = {}, {}
  for i = first_known, #ARGV do has[ARGV[i]] = true end
  for its_digest, is_another in pairs(by_others) do
    if is_another and digest ~= '' then
      list[#list + 1] = its_digest
      list[#list + 1] = not has[its_digest] and call('HGET', texts, its_digest) or ''
    end
  end
  return list
end
