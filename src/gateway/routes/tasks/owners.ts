/**
 * Tasks that live in one process of the gateway, because their server keeps them in a session or process that it has.
 * Requests about them may reach any replica, and go to that one, as requests of the stateless era.
 */
import type { Json } from '../../../protocol/index.ts'
import type { Instance } from '../../../cluster/index.ts'
import type { Call, MethodParts } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { resultOf, taskLost } from '../../errors.ts'
import { callerOf } from '../../links/callers.ts'
import { asModern } from '../../links/relayed.ts'
import { placeOf } from '../../placement/placement.ts'
import type { OwnTaskId } from './ids.ts'
import { ModernTaskSource } from './modernSource.ts'
import type { TaskSource } from './source.ts'

export class TaskOwners {
  #parts: Pick<MethodParts, 'scope' | 'calls'> | undefined

  /** From now on requests about a task in another process go there. */
  join(parts: Pick<MethodParts, 'scope' | 'calls'>): void {
    this.#parts = parts
  }

  get self(): Instance | undefined {
    return this.#parts?.scope.self
  }

  /** The process that a new task of a server lives in; undefined where any can ask for it. */
  ownerAt({ config, era, isShared }: Backend): Instance | undefined {
    const isProcess = !('url' in config.address)
    return isProcess || (era === 'legacy' && !isShared) ? this.self : undefined
  }

  /** Whether another process has the task. */
  isElsewhere({ owner }: OwnTaskId): boolean {
    return owner !== undefined && this.self !== undefined && owner.id !== this.self.id
  }

  /** The answer of the process that has the task; undefined where any can answer, or this one has it. */
  async answer(call: Call, own: OwnTaskId): Promise<Json | undefined> {
    const { server, owner } = own
    if (owner === undefined || !this.isElsewhere(own)) return undefined
    const result = await this.#forward(call, owner)
    if (result === undefined) throw taskLost(server, 'a process of the gateway')
    return result
  }

  /** A task that another process has, for a client of the session era. Its id is the one that clients know. */
  source(own: OwnTaskId): TaskSource {
    return new ModernTaskSource(own.server, async (call, method, params) => {
      const meta = call.params['_meta']
      const sent = { ...params, ...(meta !== undefined && { _meta: meta }) }
      return (await this.answer({ ...call, method, params: sent }, own)) ?? {}
    })
  }

  /** The answer of the process that serves a caller; undefined if it is this one, or is gone. */
  async answerOfPlace(call: Call): Promise<Json | undefined> {
    const owner = this.#parts && placeOf(this.#parts, call, callerOf({ ...call, caller: undefined }))
    return owner && this.#forward(call, owner)
  }

  /** Returns undefined if the other process is gone. */
  async #forward(call: Call, owner: Instance): Promise<Json | undefined> {
    const forwarded = await this.#parts?.calls.forward(owner, asModern(call))
    return forwarded?.kind === 'answered' ? resultOf(forwarded.response) : undefined
  }
}
