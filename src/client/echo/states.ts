/**
 * The `state` that a server puts on its requests beside their parameters (SEP-1685), from the moment one comes to the
 * moment its answer goes. It is kept as the text it came as, and never read (ST-2, ST-5). A message that cannot be read
 * passes as it is: nothing here throws for what a server wrote.
 */
import { ECHO_CAPABILITY, type EchoPlace, isObject } from '../../protocol/index.ts'
import { type Declare, declaring, extended } from '../layer/capabilities.ts'
import { type Member, membersOf, withMember, withoutMember } from './jsonMember.ts'
import type { WireMessage } from '../layer/transport.ts'
import { cancelledId } from '../layer/message.ts'

/** What a server may have us keep at once; the oldest go first. Without its state an answer is still an answer. */
const MAX_STATES = 1_000
const MAX_CHARS = 32 * 1024 * 1024

export class EchoStates {
  readonly #states = new Map<string, string>()
  #chars = 0

  get isEmpty(): boolean {
    return this.#states.size === 0
  }

  /** A message from the server, without its state. `channel` tells servers and sessions apart. */
  incoming(text: string, channel = ''): string {
    if (this.#states.size === 0 && !/"state"|\\u/.test(text)) return text
    const members = membersOf(text)
    if (members === undefined) return text
    const method = jsonOf(text, members, 'method')
    if (method === '"notifications/cancelled"') this.#drop(`${channel} ${cancelledIn(text)}`)
    const id = jsonOf(text, members, 'id')
    if (method === undefined || id === undefined) return text
    return this.#take(text, members, `${channel} ${id}`)
  }

  /** A message to the server; an answer gets the state of its request, and only that. */
  outgoing(text: string, channel = ''): { readonly text: string; readonly settle: () => void } {
    const members = this.#states.size === 0 ? undefined : membersOf(text)
    const isAnswer = members !== undefined && jsonOf(text, members, 'method') === undefined
    const key = isAnswer ? `${channel} ${jsonOf(text, members, 'id')}` : ''
    const state = this.#states.get(key)
    if (state === undefined) return { text, settle: nothing }
    return { text: withMember(text, 'state', state), settle: () => this.#drop(key) }
  }

  /** A request that comes without a state ends what an earlier one under its id had (ST-6). */
  #take(text: string, members: readonly Member[], key: string): string {
    this.#drop(key)
    const state = members.findLast(({ name }) => name === 'state')
    if (state === undefined) return text
    this.#keep(key, text.slice(state.valueFrom, state.to))
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

function nothing(): void {}

/** Says in a legacy `initialize` that a state may stand here, beside the places that were said before. */
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

/** The text of a legacy `initialize`, which says that a state may stand beside the parameters; others as they are. */
export function declaredInText(text: string): string {
  if (!text.includes('"initialize"')) return text
  try {
    const message = JSON.parse(text) as WireMessage
    return message.method === 'initialize' ? JSON.stringify(declareTop(message)) : text
  } catch {
    return text
  }
}

/** A member's value as canonical JSON text, so that ids written in two ways are the same. */
function jsonOf(text: string, members: readonly Member[], wanted: string): string | undefined {
  const member = members.findLast(({ name }) => name === wanted)
  if (member === undefined) return undefined
  try {
    return JSON.stringify(JSON.parse(text.slice(member.valueFrom, member.to)))
  } catch {
    return undefined
  }
}

/** The id, written as `jsonOf` writes it. What is no JSON cancels nothing: the transport says what is wrong with it. */
function cancelledIn(text: string): string | undefined {
  try {
    return JSON.stringify(cancelledId(JSON.parse(text) as WireMessage))
  } catch {
    return undefined
  }
}
