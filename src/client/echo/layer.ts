/**
 * State on the requests of session-era servers (SEP-1685). The response repeats the request's state unchanged; without
 * a state in the request there is none in the response. Servers use it only with clients that declare where it may
 * stand:
 *
 * - beside `params` and `result` (`top`): on the lines of a child process, which this layer reaches itself; over HTTP
 *   by `echoFetch`, given to the transport as its `fetch`;
 * - in `_meta`: with any other transport, where only a layer can be added.
 */
import type { ChildProcess } from 'node:child_process'
import { ECHO_META_KEY, isObject, nodeModule, type RequestId } from '../../protocol/index.ts'
import { createLayer, type LayerContext, type LayerHandlers } from '../layer/layer.ts'
import { declaringEcho, MAX_STATES, EchoStates, withTopDeclared } from './states.ts'
import { hasProcess, type Layer, type SendOptions, type WireMessage } from '../layer/transport.ts'
import { cancelledId, isResponse, isRequest, metaIn, paramsOf } from '../layer/message.ts'
import type { LineFilter } from '../transports/stdio.ts'
import { lineReader } from '../transports/lineReader.ts'

/** A layer that keeps the state of session-era servers for one call (SEP-1685). */
export function echo(): Layer {
  const onLines = { start: childLines(echoLines) }
  return (transport) => createLayer(transport, (context) => (hasProcess(transport) ? onLines : new EchoInMeta(context)))
}

const declare = declaringEcho('meta')

class EchoInMeta implements LayerHandlers {
  readonly #context: LayerContext
  readonly #states = new Map<RequestId, unknown>()

  constructor(context: LayerContext) {
    this.#context = context
  }

  send(message: WireMessage, options: SendOptions | undefined): Promise<void> {
    return this.#context.send(isResponse(message) ? this.#withState(message) : declare(message), options)
  }

  receive(message: WireMessage, extra: unknown): void {
    const cancelled = cancelledId(message)
    if (cancelled !== undefined) this.#states.delete(cancelled)
    if (isRequest(message)) this.#keep(message.id, metaIn(paramsOf(message))[ECHO_META_KEY])
    this.#context.deliver(message, extra)
  }

  closed(): void {
    this.#states.clear()
  }

  #keep(id: RequestId, state: unknown): void {
    this.#states.delete(id)
    if (state === undefined) return
    this.#states.set(id, state)
    const [oldest] = this.#states.keys()
    if (this.#states.size > MAX_STATES && oldest !== undefined) this.#states.delete(oldest)
  }

  /** An error response has no `_meta`. The server then treats the client like one without state. */
  #withState(message: WireMessage & { readonly id: RequestId }): WireMessage {
    const state = this.#states.get(message.id)
    this.#states.delete(message.id)
    const { result } = message
    if (state === undefined || !isObject(result)) return message
    return { ...message, result: { ...result, _meta: { ...metaIn(result), [ECHO_META_KEY]: state } } }
  }
}

/** A line filter. Two cheap tests find bytes that it would not change, which then need not be split into lines. */
interface ScreeningLineFilter extends LineFilter {
  passesIn(chunk: Buffer): boolean
  passesOut(text: string): boolean
}

const BACKSLASH = 0x5c
const NEWLINE = 0x0a

/** A line filter for one child process: takes states off requests that come in, and puts them on their responses. */
export function echoLines(): ScreeningLineFilter {
  const states = new EchoStates()
  // A server sends states only after they were declared, and in the stateless revision they are not declared.
  let isDeclared = false
  const passesOut = (text: string): boolean => states.isEmpty && !text.includes('"initialize"')
  return {
    // With a backslash the name "state" could be written in escapes.
    passesIn: (chunk) => !isDeclared || (states.isEmpty && !chunk.includes('"state"') && !chunk.includes(BACKSLASH)),
    passesOut,
    incoming: (line) => (isDeclared ? states.incoming(line) : line),
    outgoing: (line) => {
      if (passesOut(line)) return line
      const declared = withTopDeclared(line)
      isDeclared ||= declared !== line
      const { text, settle } = states.outgoing(declared)
      settle()
      return text
    },
  }
}

/**
 * A `start` handler that puts a filter on the lines of the child process that the transport starts. The SDK's
 * transports have no option for that. But Node's `diagnostics_channel` tells which process was started during `start`,
 * and the filter is put on its pipes. Each start has its own process, and so its own filter.
 */
function childLines(createFilter: () => ScreeningLineFilter): NonNullable<LayerHandlers['start']> {
  return (start) => {
    const { subscribe, unsubscribe } = nodeModule('node:diagnostics_channel')
    let child: ChildProcess | undefined
    const onSpawn = (message: unknown): void => {
      child ??= (message as { process: ChildProcess }).process
    }
    subscribe('child_process', onSpawn)
    try {
      return start()
    } finally {
      unsubscribe('child_process', onSpawn)
      if (child !== undefined) filterLines(child, createFilter())
    }
  }
}

function filterLines({ stdin, stdout }: ChildProcess, filter: ScreeningLineFilter): void {
  if (stdin === null || stdout === null) return
  const write = stdin.write.bind(stdin) as (chunk: unknown, ...rest: unknown[]) => boolean
  const writeFiltered = (chunk: unknown, ...rest: unknown[]): boolean => {
    const isFiltered = typeof chunk === 'string' && !filter.passesOut(chunk)
    return write(isFiltered ? `${filter.outgoing(chunk.trimEnd())}\n` : chunk, ...rest)
  }
  stdin.write = writeFiltered as typeof stdin.write
  const listeners = stdout.listeners('data')
  const emit = (chunk: Buffer): void => {
    for (const listener of listeners) listener.call(stdout, chunk)
  }
  const readLines = lineReader((line) => emit(Buffer.from(`${filter.incoming(line)}\n`)))
  let isAtLineStart = true
  stdout.removeAllListeners('data')
  stdout.on('data', (chunk: Buffer) => {
    const isWholeLines = isAtLineStart && chunk.at(-1) === NEWLINE
    isAtLineStart = chunk.at(-1) === NEWLINE
    if (isWholeLines && filter.passesIn(chunk)) emit(chunk)
    else readLines(chunk)
  })
}
