/** The three requests in which a server may ask something back: sent, and shown when they are over. */
import type { CallToolResult, Client, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client'
import { type AskingMethod, type SavedCall, suspendedOf } from '../../client/index.ts'
import type { Json } from '../../protocol/index.ts'
import { isObject } from '../../protocol/index.ts'
import type { AnswerNotes } from '../options/answers.ts'
import type { Display } from '../output/display.ts'
import { EXIT, type ExitCode } from '../exit.ts'
import { jsonText } from '../output/json.ts'
import { describeMedium, saveMedium } from '../output/media.ts'
import { promptText, resourceText, toolText } from '../output/results.ts'
import type { CallOptions } from '../connection.ts'
import { questionLines } from '../output/tasks.ts'

export interface AskingCall {
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

export interface Showing {
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
