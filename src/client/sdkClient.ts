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
import { MAX_TIMER_MS } from '../protocol/index.ts'
import { ClientError } from './errors.ts'
import { plainLine } from './safeText.ts'

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

/** The SDK reports what its check of a result found as if the server had sent it, so only the sentence tells. */
const OWN_CHECKS =
  /^(?:MCP error -?\d+: )?(?:Structured content does not match|Failed to validate structured content|Tool .* has an output schema but did not)/s

function isOwnCheck(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && OWN_CHECKS.test(error.message)
}

function resultInvalid(tool: string, cause: ProtocolError): ClientError {
  const sentence = `The result of the tool "${plainLine(tool, 60)}" does not fit its output schema: ${plainLine(cause.message)}`
  return new ClientError('RESULT_INVALID', sentence, { cause })
}
