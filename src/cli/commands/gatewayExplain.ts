/** `pannier gateway explain`: which rule decides over a call, and why. */
import { Command } from 'commander'
import { connect } from '../../client/index.ts'
import type { GatewayConfig } from '../../gateway/config/index.ts'
import type { Rules } from '../../gateway/rules/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import type { Principal } from '../../server/index.ts'
import { EXIT, type ExitCode, InputError } from '../exit.ts'
import { collect } from '../options/client.ts'
import { type CommandContext, runCommand } from '../runCommand.ts'

interface ExplainFlags {
  readonly as: readonly string[]
  readonly call: string
  readonly view?: string
}

/** How long the server may take to show the definition of the tool. */
const DEFINITION_MS = 20_000

export function gatewayExplainCommand(): Command {
  return new Command('explain')
    .description('Show which rule of the file decides over a call, and why. The tool is not called.')
    .usage("[options] FILE --call NAME ['{…}']")
    .argument('<file>')
    .argument('[arguments]', 'the arguments of the call, as JSON')
    .requiredOption('--call <name>', 'the tool, by its name at /mcp')
    .option('--as <name=value>', 'a claim of the caller, such as role=dev; sub and scope as well', collect, [])
    .option('--view <name>', 'the view that the call comes through')
    .action((file: string, args: string | undefined, flags: ExplainFlags) =>
      runCommand((context) => explain(file, args, flags, context)),
    )
    .addHelpText('after', EXPLAIN_HELP)
}

const EXPLAIN_HELP = `
The server of the tool is asked for its definition, because rules may depend on its annotations.

Exit codes:
  0    the call is allowed
  1    the call is denied, or has to be approved
  2    the file or an argument cannot be used`

async function explain(
  file: string,
  given: string | undefined,
  { as, call, view = '' }: ExplainFlags,
  { display, signal }: CommandContext,
): Promise<ExitCode> {
  const { createNames, passes } = await import('../../gateway/catalog/index.ts')
  const { namedServers, readGatewayConfig } = await import('../../gateway/config/index.ts')
  const { Rules } = await import('../../gateway/rules/index.ts')
  const args = argumentsOf(given)
  const principal = principalOf(as)
  const config = await readGatewayConfig(file)
  const names = createNames(namedServers(config))
  const found = names.resolve(call)
  const server = config.servers.find(({ name }) => name === found?.server)
  if (found === undefined || server === undefined)
    throw new InputError(`No server of ${file} has a tool "${call}". Its names are those at /mcp: SERVER_TOOL.`)
  const listed = await definitionOf(server, (own) => names.exposed(server.name, own) === call, signal)
  if (listed === undefined)
    display.note('The server showed no definition of the tool, so its annotations have their defaults.')
  const ownName = typeof listed?.['name'] === 'string' ? listed['name'] : found.kind === 'name' ? found.name : call
  if (!passes(ownName, server.settings.tools)) {
    display.print(`denied by the names under pannier.tools of the server "${server.name}"`)
    return EXIT.toolError
  }
  const subject = { principal, server: server.name, view, tool: { name: call, ownName, listed }, args: { given: args } }
  const decision = new Rules(config.settings).decide(subject)
  display.print(explanation(new Rules({ ...config.settings, dryRun: false }), subject, decision))
  return decision.outcome === 'allow' ? EXIT.ok : EXIT.toolError
}

const OUTCOMES = { allow: 'allowed', deny: 'denied', approve: 'to be approved', depends: 'undecided' } as const

function explanation(
  rules: Rules,
  subject: Parameters<Rules['decide']>[0],
  decision: ReturnType<Rules['decide']>,
): string {
  const { outcome, rule, reason, dryRun } = decision
  const by = rule === undefined ? '' : ` by ${rule}`
  const dry =
    dryRun === undefined ? [] : [`in a dry run: ${OUTCOMES[dryRun.outcome]} by ${dryRun.rule}: ${dryRun.reason}`]
  const each = rules.verdicts(subject).map(({ name, verdict }) => `  ${name}: ${verdict}`)
  return [`${OUTCOMES[outcome]}${by}: ${reason}`, ...dry, ...(each.length === 0 ? [] : ['', ...each])].join('\n')
}

function argumentsOf(given: string | undefined): unknown {
  try {
    return given === undefined ? {} : (JSON.parse(given) as unknown)
  } catch {
    throw new InputError('The arguments must be JSON, such as \'{"id": 1}\'.')
  }
}

/** A caller with these claims; a claim that is given several times is a list. Without any, the caller is anonymous. */
function principalOf(pairs: readonly string[]): Principal | 'anonymous' {
  if (pairs.length === 0) return 'anonymous'
  const claims = new Map<string, readonly string[]>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new InputError('--as must be a claim and its value, such as role=dev.')
    const name = pair.slice(0, at)
    claims.set(name, [...(claims.get(name) ?? []), pair.slice(at + 1)])
  }
  const [subject = 'somebody'] = claims.get('sub') ?? []
  const [id = subject] = claims.get('id') ?? []
  const scopes = claims.get('scope') ?? []
  const given = Object.fromEntries(
    [...claims].map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
  )
  return { id, subject, scopes, claims: given }
}

/** The definition of the tool; undefined if the server cannot be reached without its gateway. */
async function definitionOf(
  { address, settings }: GatewayConfig['servers'][number],
  isIt: (name: string) => boolean,
  signal: AbortSignal,
): Promise<Json | undefined> {
  if (settings.disabled || 'openapi' in address) return undefined
  try {
    const client = await connect(address, { signal: AbortSignal.any([signal, AbortSignal.timeout(DEFINITION_MS)]) })
    try {
      const { tools } = await client.listTools()
      const found: unknown = tools.find(({ name }) => isIt(name))
      return isObject(found) ? found : undefined
    } finally {
      await client.close()
    }
  } catch {
    signal.throwIfAborted()
    return undefined
  }
}
