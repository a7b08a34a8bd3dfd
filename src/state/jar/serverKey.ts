/**
 * The key under which state of a server is kept (SEP-1655, state scope): a domain name, or the path of a program. Some
 * servers have no name. Then the result is a sentence for the host, and calls work without state.
 */
import { assertOptionNames, host, nodeModule, type OptionNames } from '../../protocol/index.ts'
import { parse } from 'tldts'
import type { JarProgram, JarServer } from './store.ts'
import { digestOf } from '../digest.ts'

export interface JarScopeOptions {
  /**
   * Also keeps state for localhost, IP addresses and unregistered names. For development only: another server may have
   * such a name tomorrow. @default false
   */
  allowLocal?: boolean
}

const SCOPE_OPTIONS: OptionNames<JarScopeOptions> = { allowLocal: true }

/** The key under which state of a server is kept. A URL is not fetched, and a program is not started. */
export function jarServerOf(target: { readonly url: string } | JarProgram, options: JarScopeOptions = {}): JarServer {
  assertOptionNames(options, SCOPE_OPTIONS, 'jarServerOf')
  const { allowLocal = false } = options
  return 'url' in target ? domainServer(target.url, allowLocal) : programServer(target, thisMachine)
}

const SCHEMES = new Set(['http:', 'https:', 'ws:', 'wss:'])
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'ws:': '80', 'https:': '443', 'wss:': '443' }

// These are in the list of public suffixes, but names below them cannot be registered.
const UNREGISTERED = /(^|\.)(arpa|onion)$/

const ADVICE = 'Use allowLocal (--allow-local) while you develop.'

/**
 * The key of an HTTP server: its full domain name as the URL parser normalizes it (lower case, punycode, IP addresses
 * in one form), which is also what `fetch` connects to. With `allowLocal`, a server without a registered domain gets a
 * key with its port, because other ports of one machine are other servers.
 */
function domainServer(url: string, allowLocal: boolean): JarServer {
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !SCHEMES.has(address.protocol)) return { refused: 'The address is not a valid http(s) URL.' }
  const host = address.hostname.replace(/\.$/, '')
  const objection = objectionTo(host)
  if (objection === undefined) return { server: host }
  if (!allowLocal || host === '') return { refused: objection }
  return { server: `${host}:${address.port || DEFAULT_PORTS[address.protocol]}` }
}

/** Why no state is kept for a host (SEP-1655, state scope), or undefined. */
function objectionTo(host: string): string | undefined {
  if (/(^|\.)localhost$/.test(host)) return `No state is kept for localhost. ${ADVICE}`
  const { isIp, isIcann, isPrivate, domain } = parse(host, { allowPrivateDomains: true, extractHostname: false })
  if (isIp) return `No state is kept for servers named by an IP address. ${ADVICE}`
  const isRegistered = (isIcann || isPrivate) && !UNREGISTERED.test(host)
  if (!isRegistered || !isDomainName(host)) return `State is kept only for names in a registered domain. ${ADVICE}`
  if (domain === null) return `The name is a public suffix, under which anybody may have a name. ${ADVICE}`
  return undefined
}

function isDomainName(host: string): boolean {
  return host.length <= 253 && host.split('.').every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/.test(label))
}

/** The operating system as the rules for programs see it, so that tests can replace it. */
export interface Machine {
  /** The environment that programs inherit. */
  readonly env: Readonly<Record<string, string | undefined>>
  cwd(): string
  /** The path of a file or folder with all symbolic links resolved; undefined if it does not exist. */
  realPath(path: string): string | undefined
  /** Whether this is an executable file. */
  isProgram(path: string): boolean
}

const thisMachine: Machine = {
  env: host?.env ?? {},
  cwd: () => process.cwd(),
  realPath(path) {
    try {
      return nodeModule('node:fs').realpathSync.native(path)
    } catch {
      return undefined
    }
  },
  isProgram(path) {
    const { accessSync, constants, statSync } = nodeModule('node:fs')
    try {
      accessSync(path, constants.X_OK)
      return statSync(path).isFile()
    } catch {
      return false
    }
  },
}

/**
 * The key of a server that is started as a process: the real path of its program, and its arguments (SEP-1655: the file path of
 * the server). Arguments that name a file or folder count by their real paths and are shown; all others may be secrets, and
 * are in a digest. So `node server.js` is `/usr/bin/node /home/ann/server.js`, wherever it is started.
 */
export function programServer({ command, args, cwd, env }: JarProgram, machine: Machine): JarServer {
  const { resolve } = nodeModule('node:path')
  const folder = resolve(machine.cwd(), cwd ?? '')
  const program = findProgram(command, { cwd: folder, env: { ...machine.env, ...env } }, machine)
  if (program === undefined) return { refused: 'No state is kept, because there is no such program.' }
  const paths = args.map((argument) => (argument === '' ? undefined : machine.realPath(resolve(folder, argument))))
  const words = [ownPath(program, machine), ...paths.filter((path) => path !== undefined)].map(quoted)
  if (paths.includes(undefined)) words.push(`#${digestOf([cwd ?? null, args.map((each, at) => paths[at] ?? each)])}`)
  return { server: words.join(' ') }
}

/** The working folder and the environment in which a program is searched for. */
interface Place {
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The path of the program that a command starts, found as the system does, by PATH. */
function findProgram(command: string, { cwd, env }: Place, machine: Machine): string | undefined {
  const { delimiter, resolve } = nodeModule('node:path')
  const isPath = command.includes('/') || command.includes('\\')
  const folders = isPath ? [''] : (env['PATH'] ?? env['Path'] ?? '').split(delimiter)
  const paths = folders.flatMap((folder) => spellings(resolve(cwd, folder, command), env))
  return paths.find((path) => machine.isProgram(path))
}

function spellings(path: string, env: Place['env']): string[] {
  if (process.platform !== 'win32' || nodeModule('node:path').extname(path) !== '') return [path]
  return (env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').split(';').map((extension) => path + extension)
}

/** The path in the real folder. A last link is kept: links to one file may be many programs (busybox, shims, virtual environments). */
function ownPath(program: string, machine: Machine): string {
  const { basename, dirname, join } = nodeModule('node:path')
  return join(machine.realPath(dirname(program)) ?? dirname(program), basename(program))
}

function quoted(path: string): string {
  return /\s/.test(path) ? JSON.stringify(path) : path
}
