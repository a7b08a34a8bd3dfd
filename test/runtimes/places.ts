/** The runtimes, and how each begins to serve the checked servers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../../scripts/repository.ts'
import type { Given } from './programs/checked.ts'
import { startWorkerd } from './workerd.ts'

export interface Served {
  /** The address of a path. */
  readonly url: (path?: string) => string
  close(): Promise<void>
}

export interface Place {
  readonly name: string
  /** What cannot work there, by the check that fails because of it. */
  readonly without: Readonly<Record<string, string>>
  start(given: Given): Promise<Served>
}

/** A program that prints its addresses as its first line of JSON. */
function startProgram(command: readonly string[], given: Given): Promise<Served> {
  return startServer(command, given, { cwd: root, ready: /^\{"/ })
}

interface StartOptions {
  readonly cwd: string
  /** The line by which the program says that it serves. */
  readonly ready: RegExp
  /** @default what the line says */
  readonly base?: string
}

export async function startServer(
  [program = '', ...args]: readonly string[],
  given: Given,
  { cwd, ready, base: known }: StartOptions,
): Promise<Served> {
  const { NODE_OPTIONS: _, ...environment } = process.env
  const env = { ...environment, GIVEN: JSON.stringify(given), PANNIER_LOG_LEVEL: 'error' }
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) {
    if (!ready.test(line)) continue
    const said = known === undefined ? (JSON.parse(line) as { own?: string; base: string }) : { base: known }
    const { own, base }: { own?: string; base: string } = said
    child.stdout.resume()
    const url = (path = '/mcp'): string => (path === '/mcp' ? (own ?? `${base}/mcp`) : base + path)
    return { url, close: () => ended(child) }
  }
  throw new Error(`${program} ${args.join(' ')} ended before it served.`)
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await once(child, 'exit')
}

const SOURCES = '--conditions=pannier-source'
const program = (name: string): string => join(root, `test/runtimes/programs/${name}.ts`)

export function node(name: string, executable: string): Place {
  return { name, without: {}, start: (given) => startProgram([executable, SOURCES, program('node')], given) }
}

export const bun: Place = {
  name: 'Bun',
  without: {},
  start: (given) => startProgram([join(root, 'node_modules/.bin/bun'), SOURCES, program('bun')], given),
}

export function deno(executable: string): Place {
  const flags = ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual', SOURCES]
  return { name: 'Deno', without: {}, start: (given) => startProgram([executable, ...flags, program('deno')], given) }
}

const NO_SESSIONS = 'sessions need node:crypto'
const WITHOUT_SESSIONS = {
  'a session-era client is asked twice on the stream of its call': NO_SESSIONS,
  'a session-era client gets notifications on its GET stream': NO_SESSIONS,
}

/** `executable`: of another version than the one that is installed. */
export function workers(name: string, date: string, hasNode: boolean, executable?: string): Place {
  return {
    name,
    without: hasNode ? {} : WITHOUT_SESSIONS,
    start: async (given) => {
      const runtime = await startWorkerd({
        entry: 'test/runtimes/programs/workerd.ts',
        compatibilityDates: [date],
        bindings: { GIVEN: JSON.stringify(given) },
        hasNode,
        executable,
      })
      const { origin } = new URL(String(runtime.urls.get(date)))
      return { url: (path = '/mcp') => origin + path, close: () => runtime.close() }
    },
  }
}

const OWN_REQUESTS = 'in this version a stream brings nothing that another request causes'
/** What the version of half a year ago cannot do. */
export const BEFORE = {
  'a subscription is notified of a change': OWN_REQUESTS,
  'a call whose client disconnects is aborted': 'this version does not say that a client has left',
  'a session-era client gets notifications on its GET stream': OWN_REQUESTS,
}

const IN_ONE_PIECE = 'the answer is one piece'
const ONE_PIECE = {
  'a subscription is notified of a change': IN_ONE_PIECE,
  'a call whose client disconnects is aborted': IN_ONE_PIECE,
  'a session-era client is asked twice on the stream of its call': IN_ONE_PIECE,
  'a session-era client gets notifications on its GET stream': IN_ONE_PIECE,
}

export function lambda(way: 'buffered' | 'streaming'): Place {
  return {
    name: `Lambda, ${way}`,
    without:
      way === 'buffered' ? ONE_PIECE : { 'a call whose client disconnects is aborted': 'Lambda does not say so' },
    start: (given) => startProgram([process.execPath, SOURCES, program('lambda'), way], given),
  }
}
