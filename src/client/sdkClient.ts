/**
 * The SDK's client, with two differences. Calls that may wait for people have no time limit of the SDK's; the layer
 * `deadline` watches the server instead. And it says goodbye: what is on its way is sent, and a session is ended.
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
  readonly #goodbye: () => Promise<void>
  #closing: Promise<void> | undefined

  constructor(info: Implementation, options: ClientOptions, goodbye: () => Promise<void>) {
    super(info, options)
    this.#goodbye = goodbye
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
    this.#closing ??= this.#leave()
    return this.#closing
  }

  async #leave(): Promise<void> {
    try {
      await this.#goodbye()
    } finally {
      await super.close()
    }
  }
}
