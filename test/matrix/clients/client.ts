/** What the matrix does with a client, whichever it is, and what each client notes of what it hears. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Pipe } from '../fleet/pipe.ts'

export interface CallOptions {
  readonly signal: AbortSignal
  readonly timeout: number
}

export interface ToolResult {
  readonly content: readonly { readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

/** What a client heard beside the results of its calls. */
export class Heard {
  progress = 0
  lists = 0
  readonly logs: string[] = []
  readonly updated: string[] = []
  /** What it was asked. */
  readonly asked: string[] = []
}

export interface MatrixClient {
  call(tool: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolResult>
  /** Calls a tool that runs as a task only, and follows that until it has ended. Not there: the client knows no tasks. */
  readonly task?: MatrixClient['call']
  /** Asks for log messages of the calls that follow. */
  hearLogs(): Promise<unknown>
  /** Asks to be told when lists change, or when this resource does. */
  listen(uri: string | undefined): Promise<unknown>
  /** The addresses of all resources, page by page. */
  resources(): Promise<readonly string[]>
  close(): Promise<void>
}

export interface Connecting {
  readonly url: string
  /** The caller, who answers with it, and whose requests are known by it at the balancer. */
  readonly name: string
  readonly heard: Heard
  /** Whether the address speaks HTTP+SSE of 2024-11-05. */
  readonly isSse?: boolean | undefined
  /** Where it does not go to the address, but starts a gateway for itself. */
  readonly transport?: (() => Pipe) | undefined
  /** How long it waits for each answer while it connects, in milliseconds. @default the SDK's own */
  readonly timeout?: number | undefined
  /** Whether it ends its session when it is closed, as the specification asks of clients. */
  readonly endsSession?: boolean | undefined
  /** Whether it lets tools run as tasks that may. */
  readonly takesTasks?: boolean | undefined
  /** The bearer token it sends. @default none */
  readonly token?: string | undefined
  /** How long a person takes to fill in a form, in milliseconds. @default 0 */
  readonly thinksMs?: number | undefined
}

/** The header by which the balancer knows a caller. */
export const CALLER_HEADER = 'x-matrix-caller'

/** The headers of each request of a caller. */
export function headersOf({ name, token }: Connecting): Record<string, string> {
  return { [CALLER_HEADER]: name, ...(token !== undefined && { authorization: `Bearer ${token}` }) }
}

export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

export const RECONNECTION = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 300,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
}

/** Answers of one caller. */
export function answersOf({ name, heard, thinksMs = 0 }: Connecting) {
  const noted = (text: string): string => {
    heard.asked.push(text)
    return text
  }
  return {
    elicit: async (asked: { readonly message?: unknown }) => {
      const message = noted(String(asked.message))
      if (thinksMs > 0) await sleep(thinksMs)
      if (message.startsWith('Decline?')) return { action: 'decline' as const }
      if (message.startsWith('Cancel?')) return { action: 'cancel' as const }
      if (message.startsWith('Visit?')) return { action: 'accept' as const }
      // It answers each of its calls with what that call is known by.
      const key = message.slice(message.lastIndexOf(' ') + 1)
      return { action: 'accept' as const, content: { name: key.startsWith(name) ? key : name } }
    },
    sample: (asked: { readonly messages?: unknown }) => {
      noted(JSON.stringify(asked.messages))
      return { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: name } }
    },
    roots: () => ({ roots: [{ uri: `file:///${name}` }] }),
  }
}

/** Follows the cursors of a list to its end. */
export async function allPages(
  list: (cursor: string | undefined) => Promise<{ resources: readonly { uri: string }[]; nextCursor?: string }>,
): Promise<readonly string[]> {
  const uris: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < 50; page++) {
    const { resources, nextCursor } = await list(cursor)
    uris.push(...resources.map(({ uri }) => uri))
    if (nextCursor === undefined) return uris
    cursor = nextCursor
  }
  throw new Error('The list has no end.')
}
