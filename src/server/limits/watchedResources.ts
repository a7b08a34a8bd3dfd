/**
 * The watched resources of both eras; a gateway watches the same at the servers behind it. One caller may use at most
 * half of a limit, and a caller below an equal share can always watch another resource.
 */
import { groupOf, Quota } from '../../state/quota/index.ts'

export interface ResourceWatching {
  /** Maximum number of resources that all callers watch together. Callers of one network count as one. */
  readonly max: number
  /** Called when a resource gets its first watcher, and when it loses its last. */
  readonly onChange: (uri: string, isWatched: boolean) => void
}

export class WatchedResources {
  readonly #watchers = new Map<string, number>()
  readonly #quota = new Quota()

  readonly #max: number
  readonly #onChange: ResourceWatching['onChange']

  constructor({ max = Number.POSITIVE_INFINITY, onChange = () => {} }: Partial<ResourceWatching> = {}) {
    this.#max = max
    this.#onChange = onChange
  }

  /** Returns the resources within the share of the caller. */
  add(uris: Iterable<string>, caller = ''): string[] {
    const added: string[] = []
    for (const uri of uris) {
      if (!this.#take(groupOf(caller))) continue
      added.push(uri)
      const before = this.#watchers.get(uri) ?? 0
      this.#watchers.set(uri, before + 1)
      if (before === 0) this.#onChange(uri, true)
    }
    return added
  }

  /** Removes resources that were added for the same caller. */
  remove(uris: Iterable<string>, caller = ''): void {
    for (const uri of uris) {
      this.#quota.release(groupOf(caller))
      const left = (this.#watchers.get(uri) ?? 0) - 1
      if (left > 0) this.#watchers.set(uri, left)
      else if (this.#watchers.delete(uri)) this.#onChange(uri, false)
    }
  }

  #take(caller: string): boolean {
    const { places } = this.#quota.of(caller)
    const callers = this.#quota.callers + (places === 0 ? 1 : 0)
    const share = this.#quota.all.places < this.#max ? this.#max / 2 : Math.max(1, this.#max / callers)
    if (places < share) this.#quota.take(caller)
    return places < share
  }
}
