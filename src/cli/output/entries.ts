/** Entries for the settings of clients, to be copied. */

export interface EntryOptions {
  readonly name: string
  /** The address over HTTP. */
  readonly url: string
  /** The command line for clients that start programs. */
  readonly command: readonly string[]
}

/** The entries of the usual clients. No line is wrapped: it could not be copied. */
export function entriesText({ name, url, command: [command = '', ...args] }: EntryOptions): string {
  return [
    'Claude Code:',
    `  claude mcp add --transport http ${name} ${url}`,
    'Cursor (.cursor/mcp.json), and others with "mcpServers":',
    `  ${entry('mcpServers', name, { url })}`,
    'VS Code (.vscode/mcp.json):',
    `  ${entry('servers', name, { type: 'http', url })}`,
    'Claude Desktop (claude_desktop_config.json), and others that start programs:',
    `  ${entry('mcpServers', name, { command, args })}`,
    'VS Code, to start it as a program:',
    `  ${entry('servers', name, { type: 'stdio', command, args })}`,
  ].join('\n')
}

function entry(member: string, name: string, settings: object): string {
  return JSON.stringify({ [member]: { [name]: settings } })
}
