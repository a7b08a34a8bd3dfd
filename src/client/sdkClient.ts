/**
 * The SDK's client with two differences. Calls that may wait for people have no time limit of the SDK; the layer
 * `deadline` limits how long the server may be silent. And `close` first waits for `beforeClose`, which flushes messages
 * and ends the session.
 */
import {
  type CallToolRequest,
  type CallToolRequestOptions,
  Client,
  type ClientOptions,
  type GetPromptRequest,
  type Implementation,
  type ReadResourceRequest,
  type RequestOptions,
} from '@modelcontextprotocol/client'
import { MAX_TIMER_MS } from '../protocol/index.ts'

export class SdkClient extends Client {
  readonly #beforeClose: () => Promise<void>
  #closing: Promise<void> | undefined

  constructor(info: Implementation, options: ClientOptions, beforeClose: () => Promise<void>) {
    super(info, options)
    this.#beforeClose = beforeClose
  }

  override callTool(params: CallToolRequest['params'], options?: CallToolRequestOptions) {
    return super.callTool(params, { ...options, timeout: options?.timeout ?? MAX_TIMER_MS })
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
