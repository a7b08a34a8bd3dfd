import { randomBytes } from 'node:crypto'

/** One process of a server, as the other processes of that server find it. */
export interface Instance {
  /** New for each process, also for the next one at the same address. */
  readonly id: string
  /** Its endpoint, at an address that the other instances reach; undefined when it has none. */
  readonly url: string | undefined
}

/** This process. Its address is known once it listens, or from the start where it was configured. */
export class Self implements Instance {
  url: string | undefined
  #id: string | undefined

  constructor(url?: string) {
    this.url = url
  }

  /** Made when first used, because a server is often made while a Worker starts, where there are no random numbers. */
  get id(): string {
    this.#id ??= randomBytes(12).toString('base64url')
    return this.#id
  }
}

/** How an instance stands in sealed tokens and messages. */
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

/** The configured address of an endpoint; throws with the name of the option or variable that it stands in. */
export function readAdvertised(text: string, setting: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isPlain && url.hash === '' && url.search === '') return url.href
  throw new TypeError(
    `${setting} must be an address of an endpoint as other instances reach it, such as "http://10.0.0.7:3000/mcp".`,
  )
}
