/** What the matrix does with a client, whichever it is, and what each client notes of what it hears. */
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
}

/** The header by which the balancer knows a caller. */
export const CALLER_HEADER = 'x-matrix-caller'

export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

export const RECONNECTION = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 300,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
}

/** Answers of one caller. */
export function answersOf({ name, heard }: Connecting) {
  const noted = (text: string): string => {
    heard.asked.push(text)
    return text
  }
  return {
    elicit: (asked: { readonly message?: unknown }) => {
      const message = noted(String(asked.message))
      if (message.startsWith('Decline?')) return { action: 'decline' as const }
      if (message.startsWith('Cancel?')) return { action: 'cancel' as const }
      if (message.startsWith('Visit?')) return { action: 'accept' as const }
      return { action: 'accept' as const, content: { name } }
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
