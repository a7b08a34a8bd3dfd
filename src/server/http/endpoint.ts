/**
 * The endpoint, independent of the HTTP server in front of it: admits a request by its headers and passes it to the handler.
 */
import { type HeaderReader, joined, type OptionNames, utf8Text } from '../../protocol/index.ts'
import type { Authenticate, Principal } from '../auth/authenticator.ts'
import type { Logger } from '../logger.ts'
import { type Admit, createAdmission, type Documents } from './admission.ts'
import { MAX_BODY_BYTES } from './body.ts'
import type { Admission, EndpointRequest, HostSink, InstanceMessages, HttpReply, RequestHandler } from './exchange.ts'
import { GUARD_OPTIONS, type GuardOptions } from './hostGuard.ts'
import { errorReply, refusal } from './refusal.ts'

export interface HandlerOptions extends GuardOptions {
  /** The largest body taken, in bytes; a framework's own parser has its own limit. @default 4194304 */
  maxBodyBytes?: number
}

export const HANDLER_OPTIONS: OptionNames<HandlerOptions> = { ...GUARD_OPTIONS, maxBodyBytes: true }

/** The common parts of all endpoints of one server. */
export interface EndpointParts {
  readonly handler: RequestHandler
  readonly authenticate: Authenticate | undefined
  readonly documents: Documents
  /** The pages of questions. Absent if questions have no pages. */
  readonly pages?: Pages | undefined
  /** Requests of programs below the endpoint. Absent if there are none. */
  readonly programs?: Programs | undefined
  /** Refuses an admitted request before its body is read, because of a limit. Absent if callers have no limits. */
  readonly refusalOf?: RefusalOf | undefined
  /** The address of a client as its proxy reports it. Absent if it equals the connection's address. */
  readonly clientAddress?: ClientAddress | undefined
  /** Absent if other instances cannot reach this one. */
  readonly messages: InstanceMessages | undefined
  readonly logger: () => Logger
}

/** Pages for people, below the path of the endpoint. Their addresses admit the request. */
export interface Pages {
  has(path: string): boolean
  /** `address`: where the request comes from, if known. */
  serve(request: EndpointRequest, address: string | undefined): Promise<HttpReply>
}

/** Addresses for programs, below the path of the endpoint. Callers are admitted as at the endpoint itself. */
export interface Programs {
  has(path: string): boolean
  serve(request: EndpointRequest, principal: Principal | undefined, address: string | undefined): Promise<HttpReply>
}

type ClientAddress = (request: { readonly header: HeaderReader }) => string | undefined

type RefusalOf = (
  header: HeaderReader,
  principal: Principal | undefined,
  address: string | undefined,
) => Error | undefined

/** The pages of an endpoint alone. */
export function pagesOnly(parts: EndpointParts): EndpointParts {
  const handle = () => Promise.resolve(refusal(404, 'Only questions have pages here.'))
  return {
    ...parts,
    handler: { handle },
    programs: undefined,
    messages: undefined,
    documents: new Map<string, string>(),
  }
}

export class Endpoint {
  readonly maxBodyBytes: number
  readonly #parts: EndpointParts
  readonly #admit: Admit

  constructor(parts: EndpointParts, options: HandlerOptions) {
    const { authenticate, documents } = parts
    const { maxBodyBytes = MAX_BODY_BYTES } = options
    this.maxBodyBytes = maxBodyBytes
    this.#parts = parts
    this.#admit = createAdmission({ ...options, documents, authenticate, maxBodyBytes })
  }

  /** Returns the reply, or undefined when the answer goes through the sink. */
  handle(request: EndpointRequest, sink: HostSink): Promise<HttpReply | undefined> {
    // Its seal admits it: neither Host nor Origin nor a token of a caller is checked.
    const { messages } = this.#parts
    if (messages !== undefined && request.header('content-type') === messages.mediaType)
      return this.#receive(request, sink, messages)
    if (this.#parts.pages?.has(request.path)) return this.#page(request, sink, this.#parts.pages)
    const admitted = this.#admit(request, sink)
    if (!(admitted instanceof Promise)) return this.#serve(request, admitted, sink)
    return admitted.then(
      (admission) => this.#serve(request, admission, sink),
      (error: unknown) => this.fail(error),
    )
  }

  /** The reply when the handler has failed, or when its reply cannot be written. */
  fail(error: unknown): HttpReply {
    return errorReply(error, this.#parts.logger())
  }

  async #page(request: EndpointRequest, sink: HostSink, pages: Pages): Promise<HttpReply> {
    try {
      return await pages.serve(request, this.#parts.clientAddress?.(request) ?? sink.address)
    } catch (error) {
      return this.fail(error)
    }
  }

  async #receive(request: EndpointRequest, sink: HostSink, messages: InstanceMessages): Promise<HttpReply | undefined> {
    const refused = messages.refusalOf(request.header)
    if (refused !== undefined) return refused
    const chunks: Uint8Array[] = []
    for await (const chunk of request.bytes(messages.maxBytes)) chunks.push(chunk)
    return messages.receive(utf8Text(joined(chunks)), sink)
  }

  #serve(request: EndpointRequest, admitted: Admission | HttpReply, sink: HostSink): Promise<HttpReply | undefined> {
    if ('status' in admitted) return Promise.resolve(admitted)
    const { clientAddress, refusalOf, handler, programs } = this.#parts
    try {
      sink.address = clientAddress?.(request) ?? sink.address
    } catch (error) {
      return Promise.resolve(this.fail(error))
    }
    const refused = refusalOf?.(request.header, admitted.principal, sink.address)
    if (refused !== undefined) return Promise.resolve(this.fail(refused))
    if (programs?.has(request.path))
      return programs.serve(request, admitted.principal, sink.address).catch((error: unknown) => this.fail(error))
    return handler.handle(request, admitted, sink)
  }
}
