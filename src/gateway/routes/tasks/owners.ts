/**
 * Ids and owners of tasks at the gateway. An id contains the server, the server's id of the task, and the process of
 * the gateway that owns the task, so the gateway stores nothing. It is valid only for the caller of the task, because
 * servers see all callers as one.
 *
 * A process owns a task if the server keeps it in a session or child process of that process. Requests about it may
 * reach any gateway, and are forwarded to the owner as requests of the stateless era.
 */
import { decoded } from '../names.ts'
import { type Json, parseJson } from '../../../protocol/index.ts'
import { type Instance, readInstance, writeInstance } from '../../../cluster/index.ts'
import type { Principal } from '../../../server/index.ts'
import type { Call, MethodParts } from '../../../server/internal.ts'
import { MARK_CHARS, type Marks } from '../../../state/seal/index.ts'
import type { Backend } from '../../backends/backend.ts'
import { resultOf, taskLost } from '../../errors.ts'
import { callerOf } from '../../links/callers.ts'
import { asModern } from '../../links/relayed.ts'
import { placeOf } from '../../placement/placement.ts'
import { ModernTaskSource } from './modernSource.ts'
import type { TaskSource } from './source.ts'

export interface OwnTaskId {
  readonly server: string
  readonly id: string
  /** The process with the task's session or child process. */
  readonly owner?: Instance | undefined
}

export class TaskIds {
  readonly #marks: Marks

  constructor(marks: Marks) {
    this.#marks = marks
  }

  exposed(own: OwnTaskId, principal: Principal | undefined): string {
    const mark = this.#marks.of(marked(own, principal))
    // Addresses of replicas are hidden from clients.
    const place =
      own.owner === undefined ? '' : `@${this.#marks.hidden(JSON.stringify(writeInstance(own.owner)), mark)}`
    return `${encodeURIComponent(own.server)}${place}:${own.id}:${mark}`
  }

  /** Returns undefined for an id of another issuer, or of another caller's task. */
  resolve(exposed: string, principal: Principal | undefined): OwnTaskId | undefined {
    const { server: written, place, id, mark } = PARTS.exec(exposed)?.groups ?? {}
    const server = written === undefined ? undefined : decoded(written)
    if (server === undefined || id === undefined || mark === undefined) return undefined
    const owners =
      place === undefined
        ? []
        : this.#marks.revealed(place, mark).flatMap((text) => readInstance(parseJson(text)) ?? [])
    const possible: OwnTaskId[] =
      place === undefined ? [{ server, id }] : owners.map((owner) => ({ server, id, owner }))
    return possible.find((own) => this.#marks.isOf(marked(own, principal), mark))
  }
}

const PARTS = new RegExp(`^(?<server>[^:@]+)(?:@(?<place>[\\w-]+))?:(?<id>.+):(?<mark>[\\w-]{${MARK_CHARS}})$`, 's')

function marked({ server, id, owner }: OwnTaskId, principal: Principal | undefined): string {
  return JSON.stringify([server, id, principal?.id ?? null, owner === undefined ? null : writeInstance(owner)])
}

export class TaskOwners {
  #parts: Pick<MethodParts, 'scope' | 'calls'> | undefined

  /** Connects to the cluster: requests about tasks of other processes are forwarded from then on. */
  join(parts: Pick<MethodParts, 'scope' | 'calls'>): void {
    this.#parts = parts
  }

  get self(): Instance | undefined {
    return this.#parts?.scope.self
  }

  /** The owner of a new task of a server; undefined if any process can request it. */
  ownerAt({ config, era, isShared }: Backend): Instance | undefined {
    const isProcess = !('url' in config.address)
    return isProcess || (era === 'legacy' && !isShared) ? this.self : undefined
  }

  isElsewhere({ owner }: OwnTaskId): boolean {
    return owner !== undefined && this.self !== undefined && owner.id !== this.self.id
  }

  /** The answer of the owner; undefined if this process or any process can answer. */
  async answer(call: Call, own: OwnTaskId): Promise<Json | undefined> {
    const { server, owner } = own
    if (owner === undefined || !this.isElsewhere(own)) return undefined
    const result = await this.#forward(call, owner)
    if (result === undefined) throw taskLost(server, 'a process of the gateway')
    return result
  }

  /** A task of another process, for a session-era client. Its id is the one that clients know. */
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
