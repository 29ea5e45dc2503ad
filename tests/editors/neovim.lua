-- Opens a file in headless Neovim with the server and writes what a user would see, as JSON.
-- Run as: nvim --headless --clean -l neovim.lua '{"cmd": [...], "file": ..., "answer": ...}'

local given = vim.json.decode(arg[1])
local seen = {}

local function wait(what, ask, timeout)
  local answer
  local ok = vim.wait(timeout or 60000, function()
    answer = ask()
    return answer ~= nil
  end, 50)
  assert(ok, "waited for " .. what)
  return answer
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

  seen.hints = wait("inlay hints", function()
    vim.cmd.redraw()
    local hints = {}
    for _, found in ipairs(vim.lsp.inlay_hint.get({ bufnr = buffer })) do
      local hint = found.inlay_hint
      hints[tostring(hint.position.line + 1)] = hint.label
    end
    return next(hints) and hints or nil
  end)

  seen.lenses = wait("code lenses", function()
    vim.lsp.codelens.refresh({ bufnr = buffer })
    vim.wait(300)
    local titles, estimated = {}, false
    for _, lens in ipairs(vim.lsp.codelens.get(buffer)) do
      local title = lens.command and lens.command.title or ""
      table.insert(titles, { line = lens.range.start.line + 1, title = title })
      estimated = estimated or title:find("est%.") ~= nil
    end
    return estimated and titles or nil
  end)

  local lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  for number, text in ipairs(lines) do
    local column = text:find(given.word, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { number, column - 1 })
      break
    end
  end
  local params = vim.lsp.util.make_position_params(0, "utf-16")
  local answers = vim.lsp.buf_request_sync(buffer, "textDocument/hover", params, 10000)
  for _, answer in pairs(answers or {}) do
    seen.hover = answer.result and answer.result.contents.value
  end

  -- A lens is run where it stands; its command goes to the server.
  vim.api.nvim_win_set_cursor(0, { seen.lenses[1].line, 0 })
  local chosen
  vim.ui.select = function(items, _, choose)
    chosen = items[1]
    choose(items[1], 1)
  end
  local failed
  vim.notify = function(message, level)
    if level == vim.log.levels.ERROR or level == vim.log.levels.WARN then
      failed = message
    end
  end
  vim.lsp.codelens.run()
  vim.wait(3000)
  seen.ran = chosen ~= nil or #seen.lenses == 1
  seen.failed = failed
  seen.buffers = vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())
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
