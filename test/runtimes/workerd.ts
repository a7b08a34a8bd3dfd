/** Serves a Worker in workerd, the runtime of Cloudflare Workers. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type InputOptions, rolldown } from 'rolldown'
import { root } from '../../scripts/repository.ts'

export interface WorkerdOptions {
  /** The module of the Worker, from the root of the repository. */
  readonly entry: string
  /** One Worker is served for each, since the runtime behaves as it did on that day. */
  readonly compatibilityDates: readonly string[]
  readonly bindings?: Readonly<Record<string, string>>
  /** Whether the Worker has the modules of Node. @default true */
  readonly hasNode?: boolean
  /** Whether it is bundled as for a browser. @default false */
  readonly isForBrowsers?: boolean
  /** A class of the module whose objects keep SQLite, by the name of its binding. @default none */
  readonly sqlObjects?: string
  /** Flags beside `nodejs_compat`. */
  readonly flags?: readonly string[]
  /** The program of another version. @default the one that is installed */
  readonly executable?: string | undefined
}

export interface Workerd {
  /** By compatibility date. */
  readonly urls: ReadonlyMap<string, string>
  /** What the runtime has printed: uncaught errors and warnings. */
  readonly output: () => string
  close(): Promise<void>
}

// The package has no types; its default export is the path of the program.
const require = createRequire(import.meta.url)
const { default: program } = require('workerd') as { default: string }

export async function startWorkerd(options: WorkerdOptions): Promise<Workerd> {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-workerd-'))
  writeFileSync(join(folder, 'worker.mjs'), await bundle(options))
  writeFileSync(join(folder, 'config.capnp'), configOf(options))
  mkdirSync(join(folder, 'objects'))
  const child = spawn(options.executable ?? program, ['serve', 'config.capnp', '--control-fd=3', '--verbose'], {
    cwd: folder,
    env: { PWD: folder },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const close = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL')) await once(child, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
  const ports = await portsOf(child, options.compatibilityDates.length)
  if (ports === undefined) {
    await close()
    throw new Error(`workerd did not start: ${output}`)
  }
  const urls = new Map(Array.from(ports, ([date, port]) => [date, `http://127.0.0.1:${port}/mcp`]))
  return { urls, output: () => output, close }
}

/** As wrangler does it: one module, with only the runtime's own modules left outside. */
async function bundle({ entry, hasNode = true, isForBrowsers = false }: WorkerdOptions): Promise<string> {
  const build = await rolldown({
    input: join(root, entry),
    ...(isForBrowsers ? FOR_BROWSERS : FOR_WORKERS),
    onLog: (level, { message }) => {
      if (level === 'warn') throw new Error(message) // a module that was not found is only a warning
    },
  })
  const { output } = await build.generate({ format: 'esm', codeSplitting: false })
  await build.close()
  const [{ code, imports }] = output
  if (!hasNode && imports.length > 0) throw new Error(`The bundle imports ${imports.join(', ')}.`)
  return code
}

const FOR_WORKERS: Partial<InputOptions> = {
  platform: 'neutral',
  external: /^node:/,
  resolve: {
    conditionNames: ['pannier-source', 'workerd', 'worker', 'browser', 'import', 'default'],
    mainFields: ['browser', 'module', 'main'],
  },
}

const FOR_BROWSERS: Partial<InputOptions> = {
  platform: 'browser',
  resolve: { conditionNames: ['pannier-source', 'browser', 'import', 'default'] },
}

// From this date on Workers have the modules of Node without a flag, and the runtime says so to those who set it.
const NODE_BY_DEFAULT = '2026-08-04'

function configOf({
  compatibilityDates,
  bindings = {},
  sqlObjects,
  hasNode = true,
  flags = [],
}: WorkerdOptions): string {
  const flagsAt = (date: string) => [...flags, ...(hasNode && date < NODE_BY_DEFAULT ? ['nodejs_compat'] : [])]
  const texts = Object.entries(bindings).map(([name, text]) => `(name = ${quote(name)}, text = ${quote(text)})`)
  if (sqlObjects !== undefined)
    texts.push(`(name = ${quote(sqlObjects)}, durableObjectNamespace = ${quote(sqlObjects)})`)
  const objects =
    sqlObjects === undefined
      ? ''
      : `durableObjectNamespaces = [(className = ${quote(sqlObjects)}, uniqueKey = ${quote(sqlObjects)}, enableSql = true)],
    durableObjectStorage = (localDisk = "objects"),`
  const worker = (date: string): string => `(name = ${quote(date)}, worker = (
    modules = [(name = "worker", esModule = embed "worker.mjs")],
    compatibilityDate = ${quote(date)},
    compatibilityFlags = [${flagsAt(date).map(quote).join(', ')}],
    globalOutbound = "local",
    bindings = [${texts.join(', ')}],
    ${objects}
  ))`
  const socket = (date: string): string =>
    `(name = ${quote(date)}, address = "127.0.0.1:0", http = (), service = ${quote(date)})`
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "local", network = (allow = ["local"])), (name = "objects", disk = (path = "objects", writable = true)), ${compatibilityDates.map(worker).join(', ')}],
  sockets = [${compatibilityDates.map(socket).join(', ')}],
);
`
}

/** Texts of Cap'n Proto are written as those of JSON. */
const quote = (text: string): string => JSON.stringify(text)

/** The port of each socket by its name, or undefined if the process ended before all were open. */
async function portsOf(child: ChildProcess, count: number): Promise<Map<string, number> | undefined> {
  const ports = new Map<string, number>()
  const control = child.stdio[3] as NodeJS.ReadableStream
  for await (const line of createInterface({ input: control })) {
    const { event, socket, port } = JSON.parse(line) as { event: string; socket: string; port: number }
    if (event === 'listen') ports.set(socket, port)
    if (ports.size === count) return ports
  }
  return undefined
}
