import {
  type Admission,
  type EndpointRequest,
  type HostSink,
  type HttpReply,
  refusal,
  type RequestHandler,
} from '../../server/internal.ts'
import { BEHIND_HEADER, type Via, VIA_HEADER } from './via.ts'

/** RFC 5842, Loop Detected. */
export const LOOP_STATUS = 508

const LOOP = refusal(
  LOOP_STATUS,
  'This request has come through this gateway before: an entry of it, or of a gateway behind it, leads back to it.',
)

/**
 * Refuses requests that come back, or are for one server that leads back to the gateway which asks; and tells other gateways
 * which ones are behind this one.
 */
export class LoopGuard implements RequestHandler {
  readonly #via: Via
  readonly #inner: RequestHandler
  readonly #leadsBack: (header: string) => boolean

  constructor(via: Via, inner: RequestHandler, leadsBack: (header: string) => boolean = () => false) {
    this.#via = via
    this.#inner = inner
    this.#leadsBack = leadsBack
  }

  handle(request: EndpointRequest, admission: Admission, sink: HostSink): Promise<HttpReply | undefined> {
    const header = request.header(VIA_HEADER)
    if (header === undefined) return this.#inner.handle(request, admission, sink)
    if (!this.#via.admits(header) || this.#leadsBack(header)) return Promise.resolve(LOOP)
    sink.setHeaders({ [BEHIND_HEADER]: this.#via.behind })
    return this.#inner.handle(request, admission, sink)
  }
}
