/** Commands in which the server may ask something back, from the answerers to the exit code. */
import type { Client } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import { savedFile, type Target, taskOf } from '../../client/index.ts'
import { type AnswererHost, type AnswerFlags, type AnswerNotes, chooseAnswerers } from '../options/answers.ts'
import { type AskingCall, sendCall, showOutcome } from './interactive.ts'
import type { ClientFlags } from '../options/client.ts'
import type { Desk } from '../run.ts'
import { answeredLater, showDetached } from './detached.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { failureOf } from '../failure.ts'
import { type CallOptions, withServer } from '../connection.ts'

export interface AskingFlags extends ClientFlags, AnswerFlags {
  readonly save?: string
  /** Leaves a call that becomes a task to the server. */
  readonly detach?: boolean
}

export function withSaveOption(command: Command): Command {
  return command.optionsGroup('Showing:').option('--save <folder>', 'save images, sounds and blobs into this folder')
}

/** Connects, makes the request and shows what came of it. */
export async function ask(
  target: Target,
  flags: AskingFlags,
  desk: Desk,
  prepare: (client: Client, options: CallOptions) => Promise<AskingCall> | AskingCall,
): Promise<ExitCode> {
  const notes: AnswerNotes = { declined: false }
  const file = flags.suspend === undefined ? undefined : savedFile(flags.suspend)
  await file?.assertUsable()
  const chosen = await chooseAnswerers(flags, hostOf(desk, notes, file))
  const answerers = flags.detach ? { ...answeredLater(), ...chosen } : chosen
  return refusalCounts(desk, notes, async () => {
    const { call, result } = await withServer(
      target,
      flags,
      desk,
      async (client, options) => {
        const prepared = await prepare(client, options)
        return { call: prepared, result: await sendCall(client, prepared, options) }
      },
      answerers,
      flags.detach ? { handle: true, optional: true } : {},
    )
    const { output, save, suspend } = flags
    const task = flags.detach ? taskOf(result) : undefined
    if (task !== undefined) return showDetached(task, desk, output)
    return showOutcome(call, result, { display: desk.display, output, save, file: suspend, notes })
  })
}

export function hostOf(desk: Desk, notes: AnswerNotes, saving: AnswererHost['saving']): AnswererHost {
  const isTerminal = Boolean(process.stdin.isTTY && process.stderr.isTTY)
  return { hold: desk.display.hold, notes, saving, isTerminal, signal: desk.signal, interrupt: desk.interrupt }
}

/** A call that fails after somebody said no has failed because of that. */
export async function refusalCounts(
  { display, signal }: Desk,
  notes: AnswerNotes,
  run: () => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run()
  } catch (error) {
    const failure = failureOf(error)
    if (!notes.declined || failure === undefined || signal.aborted) throw error
    display.note(`error: ${failure.text}`)
    return EXIT.declined
  }
}
