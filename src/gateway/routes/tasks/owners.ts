/**
 * Tasks that live in one process of the gateway, because their server keeps them in a session or process that it has.
 * Requests of stateless callers about them may reach any replica, and go to that one.
 */
import type { Json } from '../../../protocol/index.ts'
import type { Call, Instance, MethodParts } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { BackendError } from '../../errors.ts'
import { resultOf } from '../../response.ts'
import type { OwnTaskId } from './ids.ts'

type TaskReplicas = MethodParts['replicas']

export class TaskOwners {
  #replicas: TaskReplicas | undefined

  /** From now on requests about a task in another process go there. */
  join(replicas: TaskReplicas): void {
    this.#replicas = replicas
  }

  get self(): Instance | undefined {
    return this.#replicas?.self
  }

  /** The process that a new task of a server lives in; undefined where any can ask for it. */
  ownerAt({ config, asksInPlace, isShared }: Backend): Instance | undefined {
    const isProcess = !('url' in config.address)
    return isProcess || (asksInPlace && !isShared) ? this.#replicas?.self : undefined
  }

  /** The answer of the process that has the task; undefined where any can answer, or this one has it. */
  async answer(call: Call, { server, owner }: OwnTaskId): Promise<Json | undefined> {
    if (owner === undefined || this.#replicas === undefined || owner.id === this.#replicas.self.id) return undefined
    if (call.peer.era !== 'modern') throw new BackendError('BACKEND_LOST', server, ELSEWHERE)
    const forwarded = await this.#replicas.calls.forward(owner, call)
    if (forwarded.kind === 'gone') throw new BackendError('BACKEND_LOST', server, GONE)
    return resultOf(forwarded.response)
  }
}

const GONE = 'had this task in a process of the gateway that has ended. What it did may have happened.'
const ELSEWHERE = 'has this task in another process of the gateway, where its session was. Begin it anew.'
