/** The options of every command that connects to a server, and how their values are read. */
import { type Command, Option } from 'commander'
import { SERVER_ERAS, type ServerEra } from '../../client/index.ts'
import { isLogLevel, MAX_TIMER_MS } from '../../protocol/index.ts'
import { InputError } from '../exit.ts'

export interface ClientFlags {
  readonly header?: readonly string[]
  readonly bearerEnv?: string
  readonly era?: ServerEra
  readonly oauth?: boolean
  readonly timeout?: string
  readonly maxRounds?: string
  readonly logLevel?: string
  readonly output: 'text' | 'json'
  /** The file of the jar, or false for none. @default the user's own */
  readonly jar?: string | false
  readonly principal?: string
  readonly context?: string
  readonly allowLocal?: boolean
  readonly verbose?: boolean
}

export const TARGET_HELP = `
TARGET is one of
  https://example.com/mcp    a server over HTTP
  mcp.json#name              a server of a file of VS Code, Claude, Copilot or Cursor
  -- command arguments …     a program to start; it stands at the end of the line`

export function withClientOptions(command: Command): Command {
  return withCredentialOptions(command)
    .addOption(
      new Option(
        '--era <era>',
        'connect in this era only (default: found out; sse is the transport of 2024-11-05)',
      ).choices(SERVER_ERAS),
    )
    .option('--oauth', 'log in with the browser when the server asks for it')
    .option('--timeout <seconds>', 'give up when the server is silent for this long; questions to you do not count')
    .optionsGroup('Showing:')
    .option('--log-level <level>', "show the server's log from this level on: debug, info, warning, error, …")
    .addOption(
      new Option('--output <form>', 'text for people, json for programs').choices(['text', 'json']).default('text'),
    )
    .option('--verbose', "show what the server's process writes, and what was refused or dropped")
    .optionsGroup('State that servers ask you to keep:')
    .option('--jar <file>', 'keep what servers ask to keep in this file (default: your own jar)')
    .option('--no-jar', 'keep nothing for servers')
    .option('--allow-local', 'keep state for local servers, too; for development')
    .option('--principal <name>', 'whose state is sent and kept')
    .option('--context <name>', 'keep session state under this name for later calls (default: it ends with the call)')
}

/** The options that every command with a server has, `probe` included. They open the group "Connecting". */
export function withCredentialOptions(command: Command): Command {
  return command
    .optionsGroup('Connecting:')
    .option('--header <name:value>', 'send this header; ${VAR} is taken from the environment (repeatable)', collect)
    .option('--bearer-env <name>', 'send the bearer token that this environment variable holds')
}

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Reads `Name: value` lines as headers and expands variables. Errors never contain a value. */
export function readHeaders(lines: readonly string[], expand: (value: string) => string): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      const name = line.slice(0, at).trim()
      if (at < 1 || !/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) throw new InputError('--header takes "Name: value".')
      const value = expand(line.slice(at + 1).trim())
      if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) throw new InputError(`--header ${name}: its value cannot be sent.`)
      return [name, value]
    }),
  )
}

/** Reads the token from an environment variable. Errors never contain it. */
export function readBearer(name: string, env: Readonly<Record<string, string | undefined>>): string {
  const token = env[name]?.trim()
  if (!token) throw new InputError(`--bearer-env ${name}: this variable is not set.`)
  if (!/^[\w.~+/=-]+$/.test(token)) throw new InputError(`--bearer-env ${name}: this variable holds no bearer token.`)
  return token
}

export function readTimeout(seconds: string | undefined): number | undefined {
  if (seconds === undefined) return undefined
  const ms = Number(seconds) * 1000
  if (!(ms >= 1 && Number.isFinite(ms))) throw new InputError('--timeout takes a number of seconds above 0.')
  return Math.min(ms, MAX_TIMER_MS)
}

export function readMaxRounds(count: string | undefined): number | undefined {
  if (count === undefined) return undefined
  const rounds = Number(count)
  if (!/^\d+$/.test(count) || !Number.isSafeInteger(rounds)) throw new InputError('--max-rounds takes a whole number.')
  return rounds
}

export function readLogLevel(level: string | undefined) {
  if (level === undefined || isLogLevel(level)) return level
  throw new InputError('--log-level is one of debug, info, notice, warning, error, critical, alert, emergency.')
}
