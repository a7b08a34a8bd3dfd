import type { RawResponse } from './responseReader.ts'
import { echoName, echoText, httpRequest, toolCall } from './messages.ts'
import { type Script, WrongResponse } from './script.ts'

/** Each response is searched for its id and text; one of this many is parsed and checked completely. */
const PARSE_EVERY = 64

/** A prebuilt request and what its response must contain. */
interface Prepared {
  id: number
  request: Buffer
  idPart: string
  text: string
}

export interface EchoTarget {
  port: number
  /** How many tools the server has. @default 1 */
  registered?: number
  /** Whether calls go to all tools in turn, or to one of them. @default false */
  spread?: boolean
  /** @default '/mcp' */
  path?: string
  /** What the name of the tool begins with. @default nothing */
  prefix?: string
}

/** One pool of requests for all connections, built before the measurement. */
export function prepareEchoes(target: EchoTarget, count = 1024): Prepared[] {
  const registered = target.registered ?? 1
  return Array.from({ length: count }, (_, id) => {
    const name = (target.prefix ?? '') + echoName(target.spread === true ? id : registered >> 1, registered)
    const text = echoText(id)
    const request = Buffer.from(httpRequest(target.port, name, toolCall(id, name, { text }), target.path))
    return { id, request, idPart: `"id":${id}`, text: `"text":${JSON.stringify(text)}` }
  })
}

export class EchoScript implements Script {
  #pool: Prepared[]
  #at: number
  #taken = 0

  constructor(pool: Prepared[], start: number) {
    this.#pool = pool
    this.#at = start % pool.length
  }

  next(): Buffer {
    return this.#current().request
  }

  take(response: RawResponse): boolean {
    const expected = this.#current()
    const right =
      response.status === 200 && response.body.includes(expected.text) && response.body.includes(expected.idPart)
    if (!right || (this.#taken % PARSE_EVERY === 0 && !isEcho(JSON.parse(messageIn(response.body)), expected.id))) {
      throw new WrongResponse(`the echo of call ${expected.id}`, response)
    }
    this.#taken++
    this.reset()
    return true
  }

  reset(): void {
    this.#at = (this.#at + 1) % this.#pool.length
  }

  #current(): Prepared {
    const prepared = this.#pool[this.#at]
    if (prepared === undefined) throw new Error('The pool of requests is empty.')
    return prepared
  }
}

/** The message of a response: all of it, or the data of the only event of a stream. */
function messageIn(body: string): string {
  return body.startsWith('{') ? body : (/^data: (.*)$/m.exec(body)?.[1] ?? '')
}

/** A response message that is not checked yet. */
export interface UncheckedResponse {
  id?: unknown
  result?: { content?: { type?: unknown; text?: unknown }[] }
}

/** Whether this is the exact response to the echo with this id. */
export function isEcho(message: UncheckedResponse, id: number): boolean {
  const content = message.result?.content
  return message.id === id && content?.length === 1 && content[0]?.type === 'text' && content[0].text === echoText(id)
}
