import type { Progress } from '@modelcontextprotocol/client'
import { Command } from 'commander'
import type { Target } from '../../client/index.ts'
import { CHECKS, type Exchanged, probe, type ProbeOptions, type Verdict } from '../../probe/index.ts'
import { EXIT, type ExitCode, failureOf } from '../exit.ts'
import {
  type ProbeFlags,
  readProbeOptions,
  refuseForProgram,
  refuseForSeveral,
  withProbeOptions,
  type ProbeTarget,
  readProbeTargets,
} from '../options/probe.ts'
import { explainText, type Probed, probeTable, probeText, probeMarkdown } from '../output/probe.ts'
import { resultAs } from '../output/json.ts'
import { lineWidth } from '../output/layout.ts'
import { runCommand, type CommandContext } from '../runCommand.ts'

/** `pannier probe`: tells whether servers need their sessions. */
export function probeCommand(server: readonly string[] | undefined): Command {
  const command = new Command('probe')
    .description('Tell whether a server needs its sessions.')
    .usage('[options] TARGET …\n       pannier probe [options] -- COMMAND …')
    .argument('[targets...]')
    .action((operands: string[], flags: ProbeFlags) =>
      runCommand(async (context) => {
        if (server !== undefined) refuseForProgram(flags)
        const { targets, isOne } = await readProbeTargets(operands, server)
        const options = await readProbeOptions(flags, process.env)
        const [only] = targets
        if (isOne && only !== undefined)
          return showOne(await probeOne(only.target, options, flags, context), flags, context)
        refuseForSeveral(flags)
        return showAll(await probeAll(targets, options, flags, context), flags, context)
      }),
    )
    .addHelpText('after', HELP)
  return withProbeOptions(command)
}

const HELP = `
TARGET is one of
  https://example.com/mcp    a server over HTTP
  mcp.json                   all servers of a file of VS Code, Claude, Copilot or Cursor
  mcp.json#name              one of them
  -- command arguments …     a program to start; it stands at the end of the line

The checks: ${CHECKS.join(', ')}.

No tool is called unless you name it with --call or --witness. Sessions that begin are ended, and programs that are started, too.

Examples:
  pannier probe --bearer-env TOKEN https://example.com/mcp
  pannier probe --check all --replica http://10.0.0.2/mcp http://10.0.0.1/mcp
  pannier probe --json .vscode/mcp.json

Exit codes, with several servers the highest:
  0    decided: STATELESS or STATEFUL
  1    UNKNOWN
  2    the probe could not run`

/** How many servers are probed at the same time: a file may name more programs than a machine can start at once. */
const MAX_CONCURRENT = 16

/** A failure of one server does not stop the others. Any other error is thrown once all have ended. */
async function probeAll(
  targets: readonly ProbeTarget[],
  options: ProbeOptions,
  flags: ProbeFlags,
  context: CommandContext,
): Promise<readonly Probed[]> {
  const waiting = new Set(targets)
  const showProgress = (): void => context.display.progress(progressOf(targets.length, [...waiting]))
  showProgress()
  return mapConcurrently(MAX_CONCURRENT, targets, async (one): Promise<Probed> => {
    const { name, target } = one
    try {
      return { name, verdict: await probed(target, options, flags, context, name) }
    } catch (error) {
      const failure = failureOf(error)
      if (failure === undefined) throw error
      return { name, failure }
    } finally {
      waiting.delete(one)
      showProgress()
    }
  })
}

function progressOf(total: number, waiting: readonly ProbeTarget[]): Progress {
  const names = waiting.map(({ name }) => name).join(', ')
  const message = `of ${total} servers${names === '' ? '' : `, waiting for ${names}`}`
  return { progress: total - waiting.length, total, message }
}

/** Shows the number of messages as progress. */
function probeOne(target: Target, options: ProbeOptions, flags: ProbeFlags, context: CommandContext): Promise<Verdict> {
  if (flags.explain) return probed(target, options, flags, context)
  let progress = 0
  const onExchange = (): void => {
    progress++
    context.display.progress({ progress, message: progress === 1 ? 'message sent' : 'messages sent and received' })
  }
  return probed(target, { ...options, onExchange }, flags, context)
}

/** `name` is shown with each message where several servers are probed. */
function probed(
  target: Target,
  options: ProbeOptions,
  flags: ProbeFlags,
  { display, signal }: CommandContext,
  name?: string,
): Promise<Verdict> {
  const onExchange = (exchanged: Exchanged): void => display.note(explainText(exchanged, name))
  return probe(target, { ...options, signal, ...(flags.explain && { onExchange }) })
}

function showOne(verdict: Verdict, flags: ProbeFlags, { display }: CommandContext): ExitCode {
  const text = (): string =>
    flags.markdown ? probeMarkdown([{ name: verdict.target, verdict }]) : probeText(verdict, lineWidth(), flags.explain)
  display.print(resultAs(flags.json, verdict, text))
  return verdictExitCode(verdict)
}

function showAll(all: readonly Probed[], flags: ProbeFlags, { display }: CommandContext): ExitCode {
  const text = (): string => (flags.markdown ? probeMarkdown(all) : probeTable(all, lineWidth()))
  display.print(resultAs(flags.json, all.map(resultJson), text))
  const codes = all.map((one) => ('verdict' in one ? verdictExitCode(one.verdict) : EXIT.badInput))
  return codes.includes(EXIT.badInput) ? EXIT.badInput : codes.includes(EXIT.toolError) ? EXIT.toolError : EXIT.ok
}

function verdictExitCode({ state }: Verdict): ExitCode {
  return state === 'UNKNOWN' ? EXIT.toolError : EXIT.ok
}

function resultJson(one: Probed): object {
  return 'verdict' in one ? { name: one.name, ...one.verdict } : { name: one.name, error: one.failure.text }
}

/**
 * Maps all items with at most `limit` at the same time. It settles only when all running work has ended and cleaned up, even after an error.
 */
export async function mapConcurrently<T, R>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const left = items.entries()
  const done: R[] = []
  const faults: unknown[] = []
  const one = async (): Promise<void> => {
    for (const [at, item] of left) {
      try {
        done[at] = await work(item)
      } catch (fault) {
        faults.push(fault)
      }
    }
  }
  await Promise.all(Array.from({ length: limit }, one))
  if (faults.length > 0) throw faults[0]
  return done
}
