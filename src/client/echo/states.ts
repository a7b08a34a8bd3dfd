/**
 * The `state` that a server puts on its requests beside `params` (SEP-1685), kept from the request until its response is
 * sent. It is kept as the text it came as, and never parsed (ST-2, ST-5). A message that cannot be read passes
 * unchanged: nothing that a server writes makes this code throw.
 */
import { ECHO_CAPABILITY, type EchoPlace, isObject, parseJson } from '../../protocol/index.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { type JsonMember, membersOf, withMember, withoutMember } from '../transports/jsonMember.ts'
import { cancelledId, messageIn } from '../layer/message.ts'

/** How many states are kept at once. The oldest are dropped first; their responses are sent without state. */
export const MAX_STATES = 1_000
export const MAX_CHARS = 32 * 1024 * 1024

export class EchoStates {
  readonly #states = new Map<string, string>()
  #chars = 0

  get isEmpty(): boolean {
    return this.#states.size === 0
  }

  /**
   * Takes the state off a message from the server, and keeps it. `channel` tells servers and sessions apart; `onAsked` is called with the key of a question that has a state.
   */
  incoming(text: string, channel = '', onAsked?: (key: string) => void): string {
    if (this.#states.size === 0 && !/"state"|\\u/.test(text)) return text
    const members = membersOf(text)
    if (members === undefined) return text
    const method = jsonOf(text, members, 'method')
    if (method === '"notifications/cancelled"') this.#drop(`${channel} ${cancelledIn(text)}`)
    const id = jsonOf(text, members, 'id')
    if (method === undefined || id === undefined) return text
    return this.#take(text, members, `${channel} ${id}`, onAsked)
  }

  /**
   * A message to the server. A response gets the state of its request. The result also has the key of that request. Call `settle` when the message was sent.
   */
  outgoing(text: string, channel = ''): { readonly text: string; readonly key?: string; readonly settle: () => void } {
    const members = this.#states.size === 0 ? undefined : membersOf(text)
    const isResponse = members !== undefined && jsonOf(text, members, 'method') === undefined
    const key = isResponse ? `${channel} ${jsonOf(text, members, 'id')}` : ''
    const state = this.#states.get(key)
    if (state === undefined) return { text, settle: () => undefined }
    return { text: withMember(text, 'state', state), key, settle: () => this.#drop(key) }
  }

  /** A request without state drops the state of an earlier request that had the same id (ST-6). */
  #take(
    text: string,
    members: readonly JsonMember[],
    key: string,
    onAsked: ((key: string) => void) | undefined,
  ): string {
    this.#drop(key)
    const state = members.findLast(({ name }) => name === 'state')
    if (state === undefined) return text
    this.#keep(key, text.slice(state.valueFrom, state.to))
    onAsked?.(key)
    return withoutMember(text, members, 'state')
  }

  #keep(key: string, state: string): void {
    this.#states.set(key, state)
    this.#chars += state.length
    for (const oldest of this.#states.keys()) {
      if (this.#states.size <= MAX_STATES && this.#chars <= MAX_CHARS) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    this.#chars -= this.#states.get(key)?.length ?? 0
    this.#states.delete(key)
  }
}

/** Declares in a legacy `initialize` that a state may stand at this place, beside places that are declared already. */
export function declaringEcho(place: EchoPlace): Declare {
  return declaring((capabilities, era) => {
    if (era === 'modern') return capabilities
    const { experimental } = capabilities
    const echo = isObject(experimental) ? experimental[ECHO_CAPABILITY] : undefined
    const others = isObject(echo) && Array.isArray(echo['at']) ? (echo['at'] as unknown[]) : []
    const at = [place, ...others.filter((other) => other !== place)]
    return extended(capabilities, 'experimental', { [ECHO_CAPABILITY]: { at } })
  })
}

const declareTop = declaringEcho('top')

/** The text of a message; in a legacy `initialize` the place beside `params` is declared. */
export function withTopDeclared(text: string): string {
  if (!text.includes('"initialize"')) return text
  const message = messageIn(text)
  return message?.method === 'initialize' ? JSON.stringify(declareTop(message)) : text
}

/** A member's value as canonical JSON text, so that an id has one form however it was written. */
function jsonOf(text: string, members: readonly JsonMember[], wanted: string): string | undefined {
  const member = members.findLast(({ name }) => name === wanted)
  return member && JSON.stringify(parseJson(text.slice(member.valueFrom, member.to)))
}

/** The cancelled id in the form of `jsonOf`. Text that is not JSON is left to the transport, which reports it. */
function cancelledIn(text: string): string | undefined {
  const message = messageIn(text)
  return message && JSON.stringify(cancelledId(message))
}
