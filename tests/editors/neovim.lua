-- Opens a file in headless Neovim with the server and writes what a user would see, as JSON.
-- Run as: nvim --headless --clean -l neovim.lua '{"cmd": [...], "file": ..., "answer": ...}'

local given = vim.json.decode(arg[1])
local seen = { hovers = {}, said = {} }

local function wait(what, ask, timeout)
  local answer
  local ok = vim.wait(timeout or 60000, function()
    answer = ask()
    return answer ~= nil
  end, 50)
  assert(ok, "waited for " .. what)
  return answer
end

local function hints(buffer)
  vim.cmd.redraw()
  local found = {}
  for _, item in ipairs(vim.lsp.inlay_hint.get({ bufnr = buffer })) do
    found[tostring(item.inlay_hint.position.line + 1)] = item.inlay_hint.label
  end
  return next(found) and found or nil
end

local function lenses(buffer)
  vim.lsp.codelens.refresh({ bufnr = buffer })
  vim.wait(200)
  local found = {}
  for _, lens in ipairs(vim.lsp.codelens.get(buffer)) do
    table.insert(found, { line = lens.range.start.line + 1, title = lens.command.title })
  end
  return found
end

local function shows(buffer, pattern)
  return function()
    local found, matches = lenses(buffer), false
    for _, lens in ipairs(found) do
      matches = matches or lens.title:find(pattern) ~= nil
    end
    return matches and found or nil
  end
end

local function hover(buffer, code, word)
  for number, text in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local start = text:find(code, 1, true)
    if start then
      vim.api.nvim_win_set_cursor(0, { number, text:find(word, start, true) - 1 })
      local params = vim.lsp.util.make_position_params(0, "utf-16")
      local answers = vim.lsp.buf_request_sync(buffer, "textDocument/hover", params, 10000)
      for _, answer in pairs(answers or {}) do
        return answer.result and answer.result.contents.value
      end
    end
  end
  error("no line with " .. code)
end

-- Whatever there is to choose from, the one that is wanted is chosen.
local wanted
vim.ui.select = function(items, options, choose)
  for index, item in ipairs(items) do
    if options.format_item(item):find(wanted[1], 1, true) then
      table.remove(wanted, 1)
      return choose(item, index)
    end
  end
  error("nothing to choose for " .. wanted[1] .. " at " .. (options.prompt or ""))
end
local opened
vim.ui.open = function(uri)
  opened = uri
  return { wait = function() return { code = 0 } end }
end
vim.notify = function(message, level)
  if level == vim.log.levels.ERROR or level == vim.log.levels.WARN then
    table.insert(seen.said, message)
  end
end
vim.notify_once = vim.notify

local function click(line, ...)
  wanted = { ... }
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.lsp.codelens.run()
end

local function run()
  vim.cmd.edit(given.file)
  local buffer = vim.api.nvim_get_current_buf()
  local client = assert(vim.lsp.start({
    name = "tirlens",
    cmd = given.cmd,
    root_dir = vim.fs.dirname(given.file),
  }))
  wait("the server", function()
    local found = vim.lsp.get_client_by_id(client)
    return found and found.initialized or nil
  end)
  vim.lsp.inlay_hint.enable(true, { bufnr = buffer })

  seen.hints = wait("inlay hints", function() return hints(buffer) end)
  seen.lenses = wait("code lenses", shows(buffer, "h100%-sxm"))
  for name, kernel in pairs(given.kernels) do
    seen.hovers[name] = hover(buffer, kernel.operation, kernel.word)
  end

  local first = seen.lenses[1].line
  click(first, " ms")
  wait("the report", function() return opened end)
  seen.report = table.concat(vim.fn.readfile(vim.uri_to_fname(opened)), "\n")

  click(first, given.device.before, given.device.after)
  seen.on_other_device = wait("another device", shows(buffer, vim.pesc(given.device.after)))
  click(first, given.device.after, given.device.before)
  wait("the device", shows(buffer, vim.pesc(given.device.before)))

  if given.call then
    click(given.call.line, given.call.before, given.call.after)
    seen.directive = wait("the directive", function()
      local text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), "\n")
      return text:match("# tirlens: " .. vim.pesc(given.call.after))
    end)
  end

  vim.lsp.stop_client(client)
  seen.stopped = vim.wait(5000, function()
    return vim.lsp.get_client_by_id(client) == nil
  end, 50)
end

local ok, message = xpcall(run, debug.traceback)
seen.error = not ok and message or nil
local file = assert(io.open(given.answer, "w"))
file:write(vim.json.encode(seen))
file:close()
os.exit(ok and 0 or 1)
