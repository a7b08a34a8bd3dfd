/** The three requests in which a server may ask something back: sent, and shown when they are over. */
import type { CallToolResult, Client, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client'
import type { Command } from 'commander'
import {
  type AskingMethod,
  plainLine,
  type SavedCall,
  savedFile,
  suspendedOf,
  type Target,
  taskOf,
} from '../../client/index.ts'
import { isObject, type Json } from '../../protocol/index.ts'
import { type CallOptions, withServer } from '../connection.ts'
import { EXIT, type ExitCode, failureOf, InputError } from '../exit.ts'
import { type AnswererHost, type AnswerFlags, type AnswerNotes, chooseAnswerers } from '../options/answers.ts'
import type { ClientFlags } from '../options/client.ts'
import type { Display } from '../output/display.ts'
import { jsonText } from '../output/json.ts'
import { describeMedium, saveMedium } from '../output/media.ts'
import { promptText, resourceText, toolText } from '../output/results.ts'
import { questionLines } from '../output/tasks.ts'
import type { Desk } from '../run.ts'
import { answeredLater, showDetached } from './detached.ts'

interface AskingCall {
  readonly method: AskingMethod
  readonly params: Json
}

export function sendCall(client: Client, { method, params }: AskingCall, options: CallOptions): Promise<unknown> {
  switch (method) {
    case 'tools/call':
      return client.callTool(params as never, options)
    case 'prompts/get':
      return client.getPrompt(params as never, options)
    case 'resources/read':
      return client.readResource(params as never, { ...options, cacheMode: 'bypass' })
    default:
      return method satisfies never
  }
}

interface Showing {
  readonly display: Display
  readonly output: 'text' | 'json'
  /** Where images and blobs go. */
  readonly save: string | undefined
  /** Where a call went that was put to sleep. */
  readonly file: string | undefined
  readonly notes: AnswerNotes
}

/** Shows a result and gives the exit code. What a tool says about its failure is no result, so it goes to stderr. */
export async function showOutcome(call: AskingCall, result: unknown, showing: Showing): Promise<ExitCode> {
  const { display, output, save, notes } = showing
  const suspended = suspendedOf(result)
  if (suspended !== undefined) return showSuspended(suspended.saved, showing)
  const isError = call.method === 'tools/call' && isObject(result) && result['isError'] === true
  if (output === 'json') display.print(jsonText(result))
  else {
    const text = await resultText(call, result, save === undefined ? describeMedium : saveMedium(save))
    if (isError) display.note(text)
    else if (text !== '') display.print(text)
  }
  return isError ? (notes.declined ? EXIT.declined : EXIT.toolError) : EXIT.ok
}

function resultText({ method, params }: AskingCall, result: unknown, place: typeof describeMedium): Promise<string> {
  const name = typeof params['name'] === 'string' ? params['name'] : 'content'
  switch (method) {
    case 'tools/call':
      return toolText(name, result as CallToolResult, place)
    case 'prompts/get':
      return promptText(name, result as GetPromptResult, place)
    case 'resources/read':
      return resourceText(result as ReadResourceResult, place)
    default:
      return method satisfies never
  }
}

function showSuspended({ inputRequests }: SavedCall, { display, output, file }: Showing): ExitCode {
  if (output === 'json') display.print(jsonText({ suspended: { file, inputRequests } }))
  const count = Object.keys(inputRequests).length
  const wait = count === 1 ? '1 question waits' : `${count} questions wait`
  display.note(
    [`Suspended; ${wait}:`, ...questionLines(inputRequests), `Go on with: pannier resume ${file ?? 'FILE'}`].join('\n'),
  )
  return EXIT.suspended
}

/** Commands in which the server may ask something back, from the answerers to the exit code. */

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

/** The one of a list that has this name; throws, and says which there are. */
export function named<Item extends { readonly name: string }>(
  kind: string,
  name: string,
  items: readonly Item[],
): Item {
  const item = items.find((one) => one.name === name)
  if (item !== undefined) return item
  const names = items.map((one) => plainLine(one.name, 60)).join(', ')
  throw new InputError(`The server has no ${kind} "${plainLine(name, 60)}"; it has ${names || 'none'}.`)
}
