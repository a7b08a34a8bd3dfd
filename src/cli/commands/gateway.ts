import { existsSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { Command } from 'commander'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { portOf } from '../options/port.ts'
import { lineWidth } from '../output/layout.ts'
import { type CommandContext, runCommand } from '../runCommand.ts'
import { reread } from '../serving/reload.ts'
import { isWorkerProcess } from '../serving/workerProcess.ts'
import { gatewayExplainCommand } from './gatewayExplain.ts'
import { type ServeOptions, serveGateway } from './gatewayServe.ts'
import type { GatewayConfig } from '../../gateway/config/index.ts'
import type { OfferedTool } from '../../gateway/catalog/index.ts'

/** `pannier gateway`: one endpoint for all servers of an mcp.json file. */
export function gatewayCommand(): Command {
  const gateway = new Command('gateway')
    .description('Serve all servers of an mcp.json file at one endpoint.')
    .usage('[options] FILE')
    .argument('[file]', 'the mcp.json of VS Code, Claude, Copilot or Cursor')
    .option('--port <number>', 'where to listen', portOf('--port'), 8931)
    .option('--host <address>', 'the address to listen at', '127.0.0.1')
    .option('--admin-port <number>', 'the port of /health, /servers and /metrics', portOf('--admin-port'))
    .option('--insecure', 'serve callers from other machines without authentication')
    .option('--stdio', 'serve one client on standard input and output instead')
    .option('--workers <number>', 'number of processes that serve at one port', workersOf)
    .option('--postgres <url>', 'where several gateways look up who of them serves which caller')
    .option('--dry-run', 'let every call pass the rules of the file, and log what they would have decided')
    .option('--watch', 'read the file again when it changes (SIGHUP always does that)')
    .action((file: string | undefined, options: ServeOptions) => {
      if (file === undefined) return runCommand(showPlaces)
      if (isWorkerProcess()) return serveAsWorker()
      return runCommand((context) => serveGateway(file, options, context), {
        interrupted: 'Stopped.',
        onHangup: reread,
      })
    })
    .addHelpText('after', SERVE_HELP)
  gateway
    .command('check')
    .description('Check the file, and show what would be served. Nothing is started.')
    .argument('<file>')
    .action((file: string) => runCommand((context) => check(file, context)))
    .addHelpText('after', CHECK_HELP)
  return gateway.addCommand(gatewayAcceptCommand()).addCommand(gatewayExplainCommand())
}

const SERVE_HELP = `
Clients of both eras find all servers at http://127.0.0.1:8931/mcp, and one of them at /mcp/NAME.

Variables:
  PANNIER_KEYS         the keys that all gateways of one address share; "pannier keys new" makes one
  PANNIER_ADVERTISE    where other gateways reach this one, such as http://10.0.0.1:8940
  PANNIER_PEERS        the addresses of other gateways, with commas between them
  PANNIER_LOG_LEVEL    what is logged: trace, debug, info, warn, error, fatal or silent`

const CHECK_HELP = `
The file is that of VS Code, Claude, Copilot or Cursor. Settings of a server stand in its entry under "pannier",
those of the gateway under "gateway" at the top.

Exit codes:
  0    everything can be served
  2    the file cannot be used, a server in it lacks a variable or a file, or an OpenAPI document cannot be served`

function workersOf(text: string): number {
  const workers = Number(text)
  if (Number.isInteger(workers) && workers >= 1 && workers <= 64) return workers
  throw new InputError('--workers must be a whole number from 1 to 64.')
}

// The gateway is loaded where it is used: it brings the whole server, which other commands do not need.

async function serveAsWorker(): Promise<void> {
  await (await import('../serving/served.ts')).serveAsWorker()
}

async function showPlaces({ display }: CommandContext): Promise<ExitCode> {
  const { usualPlaces } = await import('../../gateway/config/index.ts')
  const { usualPlacesText } = await import('../output/gateway.ts')
  display.print(usualPlacesText(await usualPlaces()))
  return EXIT.badInput
}

async function check(file: string, { display }: CommandContext): Promise<ExitCode> {
  const { problemText, readGatewayConfig } = await import('../../gateway/config/index.ts')
  const { gatewayConfigText, noServersText } = await import('../output/gateway.ts')
  const config = await readGatewayConfig(file)
  display.print(gatewayConfigText(config, lineWidth()))
  const none = noServersText(file, config)
  if (none !== undefined) display.note(none)
  const problems = config.unusable.flatMap((server) => server.problems)
  for (const warning of config.warnings ?? []) display.note(`warning: ${problemText(warning)}`)
  for (const problem of problems) display.note(`error: ${problemText(problem)}`)
  const faults = await faultsOfDocuments(config)
  for (const { isFatal, sentence } of faults) display.note(`${isFatal ? 'error' : 'warning'}: ${sentence}`)
  return problems.length === 0 && !faults.some(({ isFatal }) => isFatal) ? EXIT.ok : EXIT.badInput
}

/** Loads the OpenAPI modules only if an entry needs them. */
async function faultsOfDocuments({ servers }: GatewayConfig) {
  if (!servers.some(({ address }) => 'openapi' in address)) return []
  return (await import('../../gateway/internal.ts')).checkDocuments(servers)
}

interface AcceptFlags {
  readonly config?: string
  readonly pins?: string
  readonly postgres?: string
}

/** `pannier gateway accept`: lets tools be served whose definitions are new or have changed. */
function gatewayAcceptCommand(): Command {
  return new Command('accept')
    .description('Accept new or changed definitions of tools that are withheld; without NAME, show them.')
    .usage('[options] [NAME …]')
    .argument('[names...]')
    .option('--config <file>', 'the mcp.json file that is served (default: mcp.json in this folder)')
    .option('--pins <file>', 'where the definitions are pinned (default: as the file says, else beside it)')
    .option('--postgres <url>', 'the database, where they are pinned in it and the file does not name it')
    .action((names: string[], _: object, command: Command) =>
      // The parent command `pannier gateway` has the same option `--postgres`, and takes its value.
      runCommand((context) => accept(names, command.optsWithGlobals<AcceptFlags>(), context)),
    )
    .addHelpText('after', ACCEPT_HELP)
}

const ACCEPT_HELP = `
NAME is the name of a tool as the gateway lists it, or of a server, for all of its tools.

Exit codes:
  0    done
  2    a file cannot be used, or no definition that waits has that name; nothing was accepted`

async function accept(names: readonly string[], flags: AcceptFlags, { display }: CommandContext): Promise<ExitCode> {
  const { acceptOffered, createNames, offeredTools } = await import('../../gateway/catalog/index.ts')
  const { acceptCommand, namedServers, readGatewayConfig } = await import('../../gateway/config/index.ts')
  const { openPins } = await import('../serving/pins.ts')
  const { offeredText } = await import('../output/offered.ts')
  const given = names.find((name) => /\.jsonc?$/.test(name))
  if (given !== undefined) {
    const command = acceptCommand(
      given,
      names.filter((name) => name !== given),
    )
    throw new InputError(`"${given}" is a file, and no name of a tool. Write: ${command}`)
  }
  if (flags.config === undefined && !existsSync(USUAL_FILE)) throw new InputError(NO_USUAL_FILE)
  const config = await readGatewayConfig(flags.config ?? USUAL_FILE)
  const catalog = createNames(namedServers(config))
  const nameOf = ({ server, tool }: OfferedTool): string => catalog.exposed(server, tool)
  const { store, close } = openPins(config, flags)
  try {
    const offered = offeredTools(await store.load())
    if (names.length === 0) {
      display.print(offeredText(offered, nameOf))
      return EXIT.ok
    }
    const chosen = names.map((name) => offered.filter((each) => each.server === name || nameOf(each) === name))
    const missing = names.filter((_, at) => chosen[at]?.length === 0)
    if (missing.length > 0) throw new InputError(`No definition waits to be accepted for: ${missing.join(', ')}.`)
    const shown = [...new Set(chosen.flat())]
    display.print(offeredText(shown, nameOf))
    await store.update((pins) => {
      const now = offeredTools(pins)
      if (!shown.every((each) => now.some((other) => isDeepStrictEqual(other, each))))
        throw new InputError(CHANGED_AGAIN)
      return acceptOffered(pins, shown)
    })
    display.note(`Accepted: ${shown.map(nameOf).join(', ')}`)
    return EXIT.ok
  } finally {
    await close()
  }
}

const USUAL_FILE = 'mcp.json'
const NO_USUAL_FILE = 'There is no mcp.json in this folder. Name the file that the gateway serves with --config FILE.'
const CHANGED_AGAIN = 'A definition has changed again since it was shown. Nothing was accepted; look at it once more.'
