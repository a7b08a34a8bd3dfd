import type { RawResponse } from './responseReader.ts'
import { echoName, echoText, httpRequest, toolCall } from './messages.ts'
import { type Script, WrongResponse } from './script.ts'

/** Every answer is searched for its id and text; every so many is parsed and looked at closely. */
const PARSE_EVERY = 64

/** A prebuilt request and what its answer must contain. */
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
  /** Whether the calls go round all of them, or to one in the middle. @default false */
  spread?: boolean
}

/** One pool of requests for all connections: building them is no part of the measurement. */
export function prepareEchoes(target: EchoTarget, count = 1024): Prepared[] {
  const registered = target.registered ?? 1
  return Array.from({ length: count }, (_, id) => {
    const name = echoName(target.spread === true ? id : registered >> 1, registered)
    const text = echoText(id)
    const request = Buffer.from(httpRequest(target.port, name, toolCall(id, name, { text })))
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

  take(answer: RawResponse): boolean {
    const expected = this.#current()
    const right = answer.status === 200 && answer.body.includes(expected.text) && answer.body.includes(expected.idPart)
    if (!right || (this.#taken % PARSE_EVERY === 0 && !isEcho(JSON.parse(answer.body), expected.id))) {
      throw new WrongResponse(`the echo of call ${expected.id}`, answer)
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

/** What an answer may look like; nothing of it is trusted. */
export interface AnyAnswer {
  id?: unknown
  result?: { content?: { type?: unknown; text?: unknown }[] }
}

/** Whether this is the complete, exact answer to the echo with this id. */
export function isEcho(message: AnyAnswer, id: number): boolean {
  const content = message.result?.content
  return message.id === id && content?.length === 1 && content[0]?.type === 'text' && content[0].text === echoText(id)
}
