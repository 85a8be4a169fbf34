-- part messages/records: the posted messages: each is read once, changed here, and written at the end. A name
-- stands for the newest message of a fingerprint ("f:"), a category ("c:") or a group ("b:").
local loaded, newest = {}, {} -- messages by number, numbers by name; false = there is none
local changed, renamed, deleted = {}, {}, {}

local function load_message(number)
  if loaded[number] == nil then
    local text = call('HGET', posted, number)
    loaded[number] = text and cjson.decode(text) or false
  end
  return loaded[number]
end

-- find returns the number and the message that a name stands for, or nil.
local function find(name)
  local number = newest[name]
  if number == nil then
    number = call('HGET', posted, name) or false
    newest[name] = number
  end
  if number and load_message(number) then return number, loaded[number] end
end

-- point makes a name stand for a message, or for none.
local function point(name, number) newest[name], renamed[name] = number or false, number or false end

local function change(number, message) loaded[number], changed[number], deleted[number] = message, true, nil end

local function forget(number) loaded[number], changed[number], deleted[number] = false, nil, true end
