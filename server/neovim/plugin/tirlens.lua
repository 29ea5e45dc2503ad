-- What each line of a GPU kernel costs: starts the server for Python files, shows its hints and
-- lenses, and has a command for everything that a lens does.

if vim.g.loaded_tirlens then
  return
end
vim.g.loaded_tirlens = true

local function client_of(buffer)
  local client = vim.lsp.get_clients({ bufnr = buffer, name = "tirlens" })[1]
  if not client then
    vim.notify("TIRLens does not run for this buffer", vim.log.levels.WARN)
  end
  return client
end

local function execute(command, arguments)
  local buffer = vim.api.nvim_get_current_buf()
  local client = client_of(buffer)
  if client then
    client:request("workspace/executeCommand", { command = command, arguments = arguments }, function(error)
      if error then
        vim.notify("TIRLens: " .. error.message, vim.log.levels.ERROR)
      end
    end, buffer)
  end
end

-- The kernel of the nearest lens at or above the cursor; nil for all of the file.
local function kernel_at_cursor()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local nearest
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    local arguments = lens.command and lens.command.arguments
    local at = lens.range.start.line
    if arguments and at <= line and (not nearest or at >= nearest.line) then
      nearest = { line = at, kernel = arguments[2] }
    end
  end
  return nearest and nearest.kernel or vim.NIL
end

local function on_kernel(command)
  return function()
    execute(command, { vim.uri_from_bufnr(0), kernel_at_cursor() })
  end
end

local function go_to_hottest_line()
  execute("tirlens.goToHottestLine", { vim.uri_from_bufnr(0), vim.api.nvim_win_get_cursor(0)[1] - 1 })
end

-- Compare with the saved file, or with a git revision.
local function pin(given)
  execute("tirlens.pin", { vim.uri_from_bufnr(0), given.args ~= "" and given.args or vim.NIL })
end

local function unpin()
  execute("tirlens.unpin", { vim.uri_from_bufnr(0) })
end

local function toggle()
  execute("tirlens.toggle", {})
end

-- Trust the project of the current file for this session, and restart its server.
local function trust()
  local client = client_of(0)
  if client then
    vim.g.tirlens_trusted = vim.list_extend(vim.g.tirlens_trusted or {}, { client.root_dir })
    client:notify("workspace/didChangeConfiguration", { settings = { trusted = true } })
  end
end

vim.api.nvim_create_user_command("TirlensReport", on_kernel("tirlens.showReport"), {
  desc = "Open the report of the kernel at the cursor",
})
vim.api.nvim_create_user_command("TirlensCode", on_kernel("tirlens.showGeneratedCode"), {
  desc = "Open the CUDA source and the machine code of the kernel at the cursor",
})
vim.api.nvim_create_user_command("TirlensCall", on_kernel("tirlens.chooseCall"), {
  desc = "Choose the arguments of the kernel at the cursor",
})
vim.api.nvim_create_user_command("TirlensDevice", on_kernel("tirlens.chooseDevice"), {
  desc = "Choose the device of the estimates",
})
vim.api.nvim_create_user_command("TirlensHottest", go_to_hottest_line, {
  desc = "Go to the line that takes most of the kernel's time",
})
vim.api.nvim_create_user_command("TirlensPin", pin, {
  nargs = "?",
  desc = "Compare kernels with the saved file, or with a git revision",
})
vim.api.nvim_create_user_command("TirlensUnpin", unpin, {
  desc = "Compare kernels with the last save only",
})
vim.api.nvim_create_user_command("TirlensToggle", toggle, {
  desc = "Display more or less: all, the hottest lines, marked kernels, nothing",
})
vim.api.nvim_create_user_command("TirlensTrust", trust, {
  desc = "Allow the code of this project to run in this session",
})

vim.api.nvim_create_autocmd("LspAttach", {
  group = vim.api.nvim_create_augroup("tirlens", {}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == "tirlens" then
      vim.lsp.inlay_hint.enable(true, { bufnr = event.buf })
    end
  end,
})

-- The server tells when a file's figures are ready.
vim.lsp.handlers["tirlens/status"] = function(_, status)
  local buffer = vim.uri_to_bufnr(status.uri)
  if status.state ~= "analyzing" and vim.api.nvim_buf_is_loaded(buffer) then
    vim.lsp.codelens.refresh({ bufnr = buffer })
  end
end

local refresh = vim.lsp.handlers["workspace/codeLens/refresh"]
vim.lsp.handlers["workspace/codeLens/refresh"] = function(error, result, context)
  local client = vim.lsp.get_client_by_id(context.client_id)
  if client and client.name == "tirlens" then
    for buffer in pairs(client.attached_buffers) do
      vim.lsp.codelens.refresh({ bufnr = buffer })
    end
    return vim.NIL
  end
  return refresh and refresh(error, result, context) or vim.NIL
end

-- Without the program Neovim writes a line into its log and nothing else.
vim.api.nvim_create_autocmd("FileType", {
  pattern = "python",
  group = vim.api.nvim_create_augroup("tirlens_program", {}),
  callback = function()
    local command = vim.lsp.config.tirlens.cmd
    if type(command) == "table" and vim.fn.executable(command[1]) == 0 then
      vim.notify(
        "TIRLens: no program " .. command[1] .. " on the PATH; vim.lsp.config('tirlens', { cmd = ... }) names it",
        vim.log.levels.WARN
      )
      return true
    end
  end,
})

vim.lsp.enable("tirlens")
