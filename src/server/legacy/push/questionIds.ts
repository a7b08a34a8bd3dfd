import { unlessRefused } from '../../../state/internal.ts'
import type { RequestId } from '../../../protocol/index.ts'
import type { Sealer } from '../../../state/seal/index.ts'
import type { Caller } from '../../call.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../../cluster/index.ts'
import { bindingOf } from '../../binding.ts'

/** The name of a question, of its call, and the instance that asked. */
export interface NamedQuestion {
  readonly question: string
  readonly call: string
  readonly instance: Instance
}

/**
 * The ids of pushed questions on the wire: seals, bound to the session, that name the call and the instance that asks.
 */
export class QuestionIds {
  readonly #sealer: Sealer
  readonly #self: Self

  constructor(sealer: Sealer, self: Self) {
    this.#sealer = sealer
    this.#self = self
  }

  write(question: string, call: string, caller: Caller): string {
    const body = [...writeInstance(this.#self), call]
    return this.#sealer.seal('question', bindingOf(caller), { id: question, body })
  }

  /** Returns undefined for an id that is no question of this server in this session. */
  read(id: RequestId, caller: Caller): NamedQuestion | undefined {
    if (typeof id !== 'string' || caller.peer.session === undefined) return undefined
    const opened = unlessRefused(() => this.#sealer.open('question', bindingOf(caller), id))
    if (opened === undefined) return undefined
    const [instanceId, url, call = ''] = opened.body as readonly [string, string | null, string?]
    const instance = readInstance([instanceId, url])
    return instance && { question: opened.id, call, instance }
  }
}
