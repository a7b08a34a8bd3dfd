import { Command } from 'commander'
import type { OfferedTool } from '../../gateway/catalog/index.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { type CommandContext, runCommand } from '../runCommand.ts'

interface AcceptFlags {
  readonly config: string
  readonly pins?: string
}

/** `pannier gateway accept`: lets tools be served whose definitions are new or have changed. */
export function gatewayAcceptCommand(): Command {
  return new Command('accept')
    .description('Accept new or changed definitions of tools that are withheld; without NAME, show them.')
    .usage('[options] [NAME …]')
    .argument('[names...]')
    .option('--config <file>', 'the mcp.json file that is served', 'mcp.json')
    .option('--pins <file>', 'where the definitions are pinned (default: beside the mcp.json file)')
    .action((names: string[], flags: AcceptFlags) => runCommand((context) => accept(names, flags, context)))
    .addHelpText('after', HELP)
}

const HELP = `
NAME is the name of a tool as the gateway lists it, or of a server, for all of its tools.

Exit codes:
  0    done
  2    a file cannot be used, or no definition that waits has that name; nothing was accepted`

async function accept(names: readonly string[], flags: AcceptFlags, { display }: CommandContext): Promise<ExitCode> {
  const { acceptOffered, createNames, offeredTools, pinFile, pinPath } = await import('../../gateway/catalog/index.ts')
  const { acceptCommand, namedServers, readGatewayConfig } = await import('../../gateway/config/index.ts')
  const { offeredText } = await import('../output/gateway.ts')
  const given = names.find((name) => /\.jsonc?$/.test(name))
  if (given !== undefined) {
    const command = acceptCommand(
      given,
      names.filter((name) => name !== given),
    )
    throw new InputError(`"${given}" is a file, and no name of a tool. Write: ${command}`)
  }
  const catalog = createNames(namedServers(await readGatewayConfig(flags.config)))
  const nameOf = ({ server, tool }: OfferedTool): string => catalog.exposed(server, tool)
  const file = pinFile(flags.pins ?? pinPath(flags.config))
  if (names.length === 0) {
    display.print(offeredText(offeredTools(await file.load()), nameOf))
    return EXIT.ok
  }
  let accepted: readonly OfferedTool[] = []
  await file.update((pins) => {
    const offered = offeredTools(pins)
    const chosen = names.map((name) => offered.filter((each) => each.server === name || nameOf(each) === name))
    const missing = names.filter((_, at) => chosen[at]?.length === 0)
    if (missing.length > 0) throw new InputError(`No definition waits to be accepted for: ${missing.join(', ')}.`)
    accepted = [...new Set(chosen.flat())]
    return acceptOffered(pins, accepted)
  })
  display.print(`Accepted:\n\n${offeredText(accepted, nameOf)}`)
  return EXIT.ok
}
