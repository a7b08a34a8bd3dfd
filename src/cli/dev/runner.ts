/**
 * The process in which `pannier dev` runs the program of a user. A server that the program starts listens at any free
 * port. If the file starts no server, the server that it exports is started.
 */
import { tracingChannel } from 'node:diagnostics_channel'
import { Server } from 'node:http'
import { registerHooks } from 'node:module'
import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { RUN_VARIABLE, type RunReport, type RunSettings } from './reports.ts'

const { origin, keys } = JSON.parse(process.env[RUN_VARIABLE] ?? '{}') as RunSettings
Reflect.deleteProperty(process.env, RUN_VARIABLE)
process.env['PANNIER_KEYS'] ??= keys
process.env['PANNIER_LOG_LEVEL'] ??= 'warn' // a start and a stop for each change are no news
process.argv.splice(1, 1) // as if Node had started the program
const [, program = ''] = process.argv

const report = (message: RunReport): void => void process.send?.(message)
process.on('disconnect', () => process.exit())
process.channel?.unref() // a program without a server ends

/** Whether a server of Pannier listens, or will. */
let isClaimed = false
/** The address of a server of another library. */
let found: string | undefined

Object.assign(globalThis, {
  [Symbol.for('pannier.supervisor')]: {
    claim: () => {
      if (isClaimed) return undefined
      isClaimed = true
      return { port: 0, host: '127.0.0.1', origin, ready: (url: string) => report({ kind: 'listens', url }) }
    },
  },
})

let isLoaded = false
tracingChannel('net.server.listen').subscribe({
  asyncEnd: (message) => {
    if (!('server' in message) || !(message.server instanceof Server) || isClaimed) return
    const address = message.server.address()
    if (address === null || typeof address === 'string') return
    found ??= `http://127.0.0.1:${address.port}/mcp`
    if (isLoaded) report({ kind: 'listens', url: found })
  },
} as Parameters<ReturnType<typeof tracingChannel>['subscribe']>[0])

const ownFiles = new URL('../../', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) => {
    // A file that is missing is watched, too.
    if (/^\.{1,2}\//.test(specifier) && context.parentURL) watch(new URL(specifier, context.parentURL).href)
    return next(specifier, context)
  },
  load: (url, context, next) => {
    watch(url)
    return next(url, context)
  },
})

function watch(url: string): void {
  const isOfProgram = url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(ownFiles)
  if (isOfProgram) report({ kind: 'file', path: fileURLToPath(url) })
}

process.on('uncaughtExceptionMonitor', (error) => {
  const code = 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') report({ kind: 'portInUse' })
  error.stack = plainStack(error.stack ?? '')
  // Node would print its own source before this one, which has file, line and text.
  if (code !== 'ERR_INVALID_TYPESCRIPT_SYNTAX') return
  process.stderr.write(`${error.stack}\n`)
  process.exit(1)
})

/** Without the frames of Node, and with paths in place of URLs. */
function plainStack(stack: string): string {
  const lines = stack
    .split('\n')
    .filter((line) => !/^\s+at .*(\(|\s)node:/.test(line) && !line.includes(import.meta.url))
  return lines.join('\n').replaceAll(/file:\/\/[^\s):]+/g, (url) => relative('.', fileURLToPath(url)))
}

process.on('beforeExit', () => {
  report({ kind: 'noServer' })
})

const exported = (await import(pathToFileURL(program).href)) as object
isLoaded = true
if (found !== undefined && !isClaimed) report({ kind: 'listens', url: found })
else if (!isClaimed) await (await exportedServer(exported))?.listen()

interface Startable {
  listen(): Promise<unknown>
}

/** A server among the exports, or what an exported function such as `createMyServer` makes. */
async function exportedServer(exports: object): Promise<Startable | undefined> {
  for (const [name, value] of Object.entries(exports) as [string, unknown][]) {
    const made: unknown = isMaker(name, value) ? await value() : value
    if (isStartable(made)) return made
  }
  return undefined
}

function isMaker(name: string, value: unknown): value is () => unknown {
  return typeof value === 'function' && value.length === 0 && /^default$|server$/i.test(name)
}

/** A server of Pannier: those of other libraries have no `stdio`. */
function isStartable(value: unknown): value is Startable {
  return typeof value === 'object' && value !== null && 'listen' in value && 'stdio' in value
}
