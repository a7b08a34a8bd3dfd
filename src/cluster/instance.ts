import { randomBytes, toBase64 } from '../protocol/index.ts'

/** One process of a server, as its other processes see it. */
export interface Instance {
  /** New for each process, even at the same address. */
  readonly id: string
  /** The address of its endpoint that other instances reach; undefined if it has none. */
  readonly url: string | undefined
}

/** This process. Its address is known from the start if configured, else once it listens. */
export class Self implements Instance {
  url: string | undefined
  #id: string | undefined

  constructor(url?: string) {
    this.url = url
  }

  /**
   * Created on first use: a server is often constructed at the start of a Worker, where random numbers are not
   * available.
   */
  get id(): string {
    this.#id ??= newInstanceId(Date.now())
    return this.#id
  }
}

/** Ids sort by the start of their processes: the oldest member, which keeps the claims, has the least id. */
export function newInstanceId(nowMs: number): string {
  return nowMs.toString(36).padStart(9, '0') + toBase64(randomBytes(9), 'base64url')
}

/** The form of an instance in sealed tokens and messages. */
export type InstanceEntry = readonly [id: string, url: string | null]

export function writeInstance({ id, url }: Instance): InstanceEntry {
  return [id, url ?? null]
}

export function readInstance(entry: unknown): Instance | undefined {
  if (!Array.isArray(entry)) return undefined
  const [id, url] = entry as readonly unknown[]
  if (typeof id !== 'string') return undefined
  return { id, url: typeof url === 'string' ? url : undefined }
}
