/**
 * A server that tries to break its clients, in both eras. What it notices, it tells by the tool `report`; what a client
 * does wrong ends a call with `bad: …`.
 */
import { createHash } from 'node:crypto'
import type { Loose } from './fakeTransport.ts'

type Message = { id?: unknown; method?: string; params?: Loose; error?: Loose; state?: unknown }
export type Say = (message: object) => void

export const SERVER_STATE = 'modelcontextprotocol.io/state/server'
const SESSION_STATE = 'modelcontextprotocol.io/state/session'
const TEN_MB = 10_000_000
const form = {
  method: 'elicitation/create',
  params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
}

export class Hostile {
  #lists = 0
  #states = 0
  /** What each state was given with: the keys that were asked. */
  readonly #asked = new Map<string, readonly string[]>()
  /** Answers to requests of ours, by id. */
  readonly #answers = new Map<unknown, (message: Message) => void>()
  readonly #refusals: unknown[] = []

  /** Serves one message; `say` answers on its way, and `end` ends that. */
  async serve(message: Message, say: Say, end: () => void): Promise<void> {
    if (message.method === undefined) this.#heard(message)
    else if (message.id !== undefined) await this.#answer(message, say)
    end()
  }

  /** Asks when nobody called. */
  askUnrelated(say: Say): void {
    for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
      const id = `unrelated ${method}`
      this.#answers.set(id, ({ error }) => this.#refusals.push(error?.code ?? 'answered'))
      say({ ...form, id, method })
    }
  }

  async #answer({ id, method, params = {} }: Message, say: Say): Promise<void> {
    const result = (value: object) => say({ id, result: { resultType: 'complete', ...value } })
    switch (method) {
      case 'initialize':
        return result({
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'hostile', version: '0' },
          _meta: { [SERVER_STATE]: { 'from initialize': true } },
        })
      case 'server/discover':
        return result({
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'hostile', version: '0' } },
        })
      case 'tools/list':
        return result({
          tools: [{ name: 'list', inputSchema: { type: 'object' } }],
          ttlMs: 3_600_000,
          cacheScope: 'public',
          _meta: { [SERVER_STATE]: { lists: ++this.#lists } },
        })
      case 'tools/call':
        return this.#call(id, params, say)
      default:
        return say({ id, error: { code: -32601, message: 'no' } })
    }
  }

  async #call(id: unknown, params: Loose, say: Say): Promise<void> {
    const { inputResponses, requestState } = params
    const done = (text: string, meta = {}) =>
      say({ id, result: { resultType: 'complete', content: [{ type: 'text', text }], _meta: meta } })
    const ask = (keys: readonly string[] | undefined, state: string | undefined, as: unknown = id) => {
      if (state !== undefined) this.#asked.set(state, keys ?? [])
      const inputRequests = keys && Object.fromEntries(keys.map((key) => [key, form]))
      say({ id: as, result: { resultType: 'input_required', inputRequests, requestState: state } })
    }
    const given = Object.keys(inputResponses ?? {})
    const newState = () => `${params.name} ${++this.#states}`
    const isFirst = requestState === undefined && inputResponses === undefined
    switch (params.name) {
      case 'changed_keys': {
        if (isFirst) return ask(['a', 'b'], newState())
        const asked = this.#asked.get(requestState)
        if (asked === undefined || asked.join() !== given.join())
          return done(`bad: ${given.join()} with ${requestState}`)
        return given.includes('a') ? ask(['b', 'c', '__proto__'], newState()) : done('ok')
      }
      case 'state_then_none':
        if (isFirst) return ask(['first'], newState())
        if (given.join() === 'first' && requestState !== undefined) return ask(['second'], undefined)
        return done(
          given.join() === 'second' && requestState === undefined ? 'ok' : `bad: ${given.join()} ${requestState}`,
        )
      case 'other_ids':
        for (const other of [Number(id) + 1000, `${String(id)}x`, 'pannier-1', 'pannier-999999', -1]) {
          say({ id: other, result: { content: [{ type: 'text', text: 'bad: of another' }] } })
        }
        return isFirst ? ask(['a'], newState()) : done('ok')
      case 'undeclared':
        say({
          id,
          result: {
            resultType: 'input_required',
            inputRequests: { s: { method: 'sampling/createMessage', params: { messages: [] } } },
          },
        })
        return
      case 'endless':
        return ask(['again'], newState())
      case 'endless_states':
        return ask(undefined, newState())
      case 'large_state': {
        const state = `${'x'.repeat(TEN_MB)}é"\\`
        if (isFirst) return ask(['a'], state)
        return done(requestState === state ? 'ok' : 'bad: another state')
      }
      case 'unknown_kind':
        return say({ id, result: { resultType: 'perhaps', content: [{ type: 'text', text: 'bad' }] } })
      case 'keep_large':
        return done('ok', {
          [SERVER_STATE]: { large: 'x'.repeat(TEN_MB), small: 'kept' },
          [SESSION_STATE]: ['no', 'map'],
        })
      case 'keep_for_others':
        return done('ok', {
          [SERVER_STATE]: { 'a.example': { token: 'stolen' }, __proto__: null, constructor: 'x' },
          [`${SERVER_STATE}/a.example`]: { token: 'stolen' },
          [`https://a.example/${SERVER_STATE}`]: { token: 'stolen' },
        })
      case 'kept':
        return done(JSON.stringify(params._meta ?? {}))
      case 'push_state':
        return this.#pushState(say, done)
      case 'report':
        return done(JSON.stringify({ lists: this.#lists, refusals: this.#refusals }))
      default:
        return done('no such tool')
    }
  }

  /** Pushes questions with states of every kind, the same ids again and again, and compares what comes back. */
  async #pushState(say: Say, done: (text: string) => void): Promise<void> {
    const states = [
      'text',
      '',
      0,
      null,
      false,
      ['list'],
      { b: 1, a: { deep: [1, 'é'] } },
      'x'.repeat(TEN_MB),
      undefined,
    ]
    for (const state of states) {
      const answer = new Promise<Message>((resolve) => this.#answers.set('same id', resolve))
      say({ ...form, id: 'same id', ...(state !== undefined && { state }) })
      const { state: back } = await answer
      if (digest(back) !== digest(state)) return done(`bad: ${digest(state)} came back as ${digest(back)}`)
    }
    done('ok')
  }

  #heard(message: Message): void {
    this.#answers.get(message.id)?.(message)
    this.#answers.delete(message.id)
  }
}

function digest(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length < 100 ? text : createHash('sha256').update(text).digest('hex')
}
