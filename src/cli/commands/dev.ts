import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { Command } from 'commander'
import { newKey } from '../../state/seal/index.ts'
import { openFront, type Front } from '../dev/front.ts'
import { Restarts } from '../dev/restarts.ts'
import { type RunEnd, startRun } from '../dev/run.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { portOf } from '../options/port.ts'
import { aborted, type CommandContext, runCommand } from '../runCommand.ts'
import { FileWatch } from '../serving/fileWatch.ts'

interface DevFlags {
  readonly port?: number
  readonly stdio?: boolean
}

/** `pannier dev`: one server of the user, started again when its files change, at an address that stays. */
export function devCommand(): Command {
  return new Command('dev')
    .description('Serve one server of yours while you write it: it starts again when a file changes.')
    .usage('[options] FILE')
    .argument('<file>')
    .option('--port <number>', 'the port that clients use (default: PORT, else 3000)', portOf('--port'))
    .option('--stdio', 'serve one client on standard input and output instead')
    .action((file: string, flags: DevFlags) =>
      runCommand((context) => dev(resolve(file), flags, context), { interrupted: 'Stopped.' }),
    )
    .addHelpText('after', DEV_HELP)
}

const DEV_HELP = `
FILE is a program that starts a server with "listen" or "stdio", or a module that exports one, or a function such as
createMyServer that makes one. A server of another library must listen at the port that PORT names.

Clients keep their address, and a call that waits for an answer continues in the next run. A run that fails changes
nothing: the one before it serves until the file is mended. The folder of package.json, with its .env, is the working
directory. Without PANNIER_KEYS the runs share a key, which is gone when this program ends.`

async function dev(program: string, { port, stdio = false }: DevFlags, context: CommandContext): Promise<ExitCode> {
  if (!existsSync(program)) throw new InputError(`There is no file ${program}.`)
  const { display, signal } = context
  const folder = projectFolder(program)
  const shown = basename(program)
  const keys = newKey()
  const watch = new FileWatch((path) => {
    display.note(`${basename(path)} has changed.`)
    void restarts.restart()
  })
  for (const path of [program, join(folder, '.env')]) watch.add(path)
  const restarts: Restarts = new Restarts({
    start: (before) =>
      startRun({
        program,
        folder,
        before,
        keys,
        origin: front.origin,
        isQuiet: stdio,
        onFile: (path) => watch.add(path),
      }),
    onServing: ({ pathname }) => serving(front.origin + pathname),
    onFailed: (end, isServed) => display.note(failedText(end, shown, isServed)),
    onCrash: () => signal.aborted || display.note(`${shown} has ended. It starts again when one of its files changes.`),
  })
  const front = await frontAt(stdio ? 0 : (port ?? Number(process.env['PORT'] ?? 3000)), restarts)

  const address = Promise.withResolvers<string>()
  let isFirst = true
  const name = nameOf(folder, program)
  const serving = (url: string): void => {
    if (!isFirst) return display.note(`${shown} was started again, at the same address.`)
    isFirst = false
    address.resolve(url)
    display.note(`Serving ${url}`)
    if (!stdio) display.note(`\n${entriesText(name, url, stdioCommand(program))}\n`)
    display.note(`${shown} starts again when one of its files changes.`)
  }
  try {
    void restarts.restart()
    const ends = [aborted(signal), ...(stdio ? [serveOnStdio(name, address.promise)] : [])]
    await Promise.race(ends)
    return EXIT.ok
  } finally {
    watch.close()
    front.close()
    await restarts.stop()
  }
}

async function frontAt(port: number, restarts: Restarts): Promise<Front> {
  try {
    return await openFront({ port, target: () => restarts.target() })
  } catch (error) {
    const isTaken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    throw isTaken ? new InputError(`Port ${port} is in use. Choose another one with --port.`) : error
  }
}

/** A gateway connects the one client of standard input to the address, which outlives each run. */
async function serveOnStdio(name: string, address: Promise<string>): Promise<void> {
  const { createGateway, gatewayConfigOf } = await import('../../gateway/index.ts')
  const url = await address
  const entry = { url, pannier: { prefix: false } }
  const gateway = createGateway(await gatewayConfigOf({ mcpServers: { [name]: entry } }))
  await gateway.stdio()
  await gateway.drain()
}

function failedText(end: RunEnd, shown: string, isServed: boolean): string {
  const next = isServed ? 'The run before serves until then.' : ''
  return `${FAILURES[end](shown)} It starts again when one of its files changes. ${next}`.trimEnd()
}

const FAILURES: Record<RunEnd, (shown: string) => string> = {
  failed: (shown) => `${shown} has failed.`,
  portInUse: (shown) => `${shown} has failed: its port is in use. Let it listen at Number(process.env.PORT ?? 3000).`,
  noServer: (shown) => `${shown} neither starts a server nor exports one.`,
}

/** The folder of the package of a file, or its own. */
function projectFolder(program: string): string {
  for (let folder = dirname(program); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
    if (folder === dirname(folder)) return dirname(program)
  }
}

/** The name of the package, as its entries should have it; otherwise that of the file. */
function nameOf(folder: string, program: string): string {
  const manifest = join(folder, 'package.json')
  const { name } = existsSync(manifest) ? (JSON.parse(readFileSync(manifest, 'utf8')) as { name?: unknown }) : {}
  const own = typeof name === 'string' ? basename(name) : basename(program, extname(program))
  return own.replaceAll(/[^\w-]+/g, '-')
}

function stdioCommand(program: string): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? '', 'dev', '--stdio', program]
}

/** Entries for the settings of the usual clients, to be copied. No line is wrapped: it could not be copied. */
function entriesText(name: string, url: string, [command = '', ...args]: readonly string[]): string {
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
