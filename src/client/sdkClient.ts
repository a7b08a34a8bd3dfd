/**
 * The SDK's client with three differences. Calls that may wait for people have no time limit of the SDK; the layer
 * `deadline` limits how long the server may be silent. A result that the SDK itself refuses is an
 * error of this side, not one of the server. And `close` first waits for `beforeClose`, which flushes messages and ends
 * the session.
 */
import {
  type CallToolRequest,
  type CallToolRequestOptions,
  Client,
  type ClientOptions,
  type GetPromptRequest,
  type Implementation,
  ProtocolError,
  type ReadResourceRequest,
  type RequestOptions,
} from '@modelcontextprotocol/client'
import { MAX_TIMER_MS, settledWithin } from '../protocol/index.ts'
import { ClientError } from './errors.ts'
import { plainLine } from '../questions/index.ts'
import { createLayer } from './layer/layer.ts'
import type { Layer } from './layer/transport.ts'
import { isRequest } from './layer/message.ts'

export class SdkClient extends Client {
  readonly #beforeClose: () => Promise<void>
  #closing: Promise<void> | undefined

  constructor(info: Implementation, options: ClientOptions, beforeClose: () => Promise<void>) {
    super(info, options)
    this.#beforeClose = beforeClose
  }

  override async callTool(params: CallToolRequest['params'], options?: CallToolRequestOptions) {
    try {
      return await super.callTool(params, { ...options, timeout: options?.timeout ?? MAX_TIMER_MS })
    } catch (error) {
      throw isOwnCheck(error) ? resultInvalid(params.name, error) : error
    }
  }

  override getPrompt(params: GetPromptRequest['params'], options?: RequestOptions) {
    return super.getPrompt(params, { ...options, timeout: options?.timeout ?? MAX_TIMER_MS })
  }

  override readResource(params: ReadResourceRequest['params'], options?: RequestOptions) {
    return super.readResource(params, { ...options, timeout: options?.timeout ?? MAX_TIMER_MS })
  }

  override close(): Promise<void> {
    this.#closing ??= this.#closeOnce()
    return this.#closing
  }

  async #closeOnce(): Promise<void> {
    try {
      await this.#beforeClose()
    } finally {
      await super.close()
    }
  }
}

/** The SDK reports an invalid result like an error from the server. Only the sentence distinguishes them. */
const OWN_CHECKS =
  /^(?:MCP error -?\d+: )?(?:Structured content does not match|Failed to validate structured content|Tool .* has an output schema but did not)/s

function isOwnCheck(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && OWN_CHECKS.test(error.message)
}

function resultInvalid(tool: string, cause: ProtocolError): ClientError {
  const sentence = `The result of the tool "${plainLine(tool, 60)}" does not fit its output schema: ${plainLine(cause.message)}`
  return new ClientError('RESULT_INVALID', sentence, { cause })
}

/** How long sending the rest, and ending the session, may take each. */
const LIMIT_MS = 1_000

export interface FlushOnClose {
  /** Sees what is being sent. The innermost layer, and another one below each layer that sends its own messages. */
  readonly layer: Layer
  /** Resolves when everything was sent and the session is ended, or when the time for that is over. */
  flush(): Promise<void>
  /** Whether `flush` was called. */
  isClosing(): boolean
}

/** Notifications and responses that are being sent when the client closes still go out, and the session is ended. */
export function flushOnClose(endSession: () => Promise<void>): FlushOnClose {
  const pending = new Set<Promise<void>>()
  let isClosing = false
  return {
    isClosing: () => isClosing,
    layer: (transport) =>
      createLayer(transport, (context) => ({
        send(message, options) {
          const sending = context.send(message, options)
          // Over HTTP, `send` resolves with the response, which may never come. So only `tasks/cancel` is awaited.
          if (isRequest(message) && message.method !== 'tasks/cancel') return sending
          pending.add(sending)
          return sending.finally(() => pending.delete(sending))
        },
      })),
    async flush() {
      isClosing = true
      await settledWithin(Promise.allSettled(pending), LIMIT_MS)
      await settledWithin(
        endSession().catch(() => undefined),
        LIMIT_MS,
      )
    },
  }
}
